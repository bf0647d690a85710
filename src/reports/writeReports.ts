import type { Database } from '../db/database.js';
export function writeReports(_database: Database, _day: string, _dir: string): Promise<string[]> {
  return Promise.resolve([]);
}
