/** Where "now" comes from. Only for what people read and for finding the day that is due; leases use the database's clock. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** RFC 3339 in UTC with milliseconds: the one spelling of an instant in tables and documents. */
export function instantText(moment: Date): string {
  return moment.toISOString();
}
