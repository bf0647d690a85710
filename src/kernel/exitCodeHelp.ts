/** The exit codes as the help of every command shows them. */
export const exitCodeHelp = `
Exit codes:
  0 OK            closed, nothing due, or already closed
  1 INTERNAL      a bug or an unclassified error; what was committed stands
  2 USAGE         bad flag, config, argument or file; nothing touched
  3 PARTIAL       ran to the end, but something is left for a person
  4 INTEGRITY     the books contradict each other; stopped
  5 PRECONDITION  migrations pending, or an earlier day is open
  10 NOTHING_DUE  only with --detailed-exitcode
  11 LOCKED       another run holds the lease
  12 DEADLINE     --max-duration reached; saved
  75 TEMPFAIL     database unreachable after bounded retries; saved
  130 / 143       SIGINT / SIGTERM; saved`;
