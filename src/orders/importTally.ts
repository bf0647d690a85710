import type { RejectedRow } from './importProblems.js';

/** A file of nothing but faults must not fill the memory: beyond this, rows are counted and not listed. */
export const rejectedListMax = 10_000;

/** What one transaction did with its rows. */
export interface UnitOutcome {
  /** Rows stored: new ones, and accounts whose state was changed. */
  accepted: number;
  /** Of the accepted, those that changed an account. */
  updated: number;
  /** Rows that told what is known already. */
  repeated: number;
  rejected: readonly RejectedRow[];
}

/** Counts of one file, exact however long it is. */
export class ImportTally {
  accepted = 0;
  updated = 0;
  repeated = 0;
  rejectedCount = 0;
  private listed: RejectedRow[] = [];

  add(outcome: UnitOutcome): void {
    this.accepted += outcome.accepted;
    this.updated += outcome.updated;
    this.repeated += outcome.repeated;
    for (const row of outcome.rejected) this.reject(row);
  }

  reject(row: RejectedRow): void {
    this.rejectedCount += 1;
    if (this.listed.length < rejectedListMax) this.listed.push(row);
  }

  get rows(): number {
    return this.accepted + this.repeated + this.rejectedCount;
  }

  /** The refused rows in the order of their lines; the first `rejectedListMax` that were met. */
  get rejected(): readonly RejectedRow[] {
    return [...this.listed].sort((a, b) => a.line - b.line);
  }
}
