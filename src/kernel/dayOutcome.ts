/**
 * What a batch day has come to, for those who are told of it. CLOSED: nothing is left. PARTIAL: closed, with something left for
 * a person. OPEN: a run came to its end and the day is not closed. The rest: the last run of the day ended early, and why.
 */
export const dayOutcomes = ['CLOSED', 'PARTIAL', 'OPEN', 'INTEGRITY', 'DEADLINE', 'INTERRUPTED', 'FAILED'] as const;

export type DayOutcome = (typeof dayOutcomes)[number];
