import type { Session } from '../db/session.js';
import { toCount } from '../db/values.js';
import type { Checklist, VerifyCheckName } from './checklist.js';
import { listedMax } from './ledgerProof.js';
import { orderRows } from './orderRows.js';

// What statements, matches and discrepancies say, each against the rows that they tell of: as plain statements over the
// tables, which know nothing of how lines are matched.

interface Rule {
  check: VerifyCheckName;
  table: string;
  /** Gives `item`, a text, for each row that cannot be true. */
  sql: string;
  problem: string;
}

const counted = `('BOOKED', 'FLAGGED')`;
const line = `concat(l.file_id, '/', l.seq)`;
const match = `concat(m.file_id, '/', m.seq)`;
const ofLine = 'l.file_id = m.file_id and l.seq = m.seq';
/** Where a rule joins the table of orders, as `o`. */
const orders = '@orders o';
const ofMatch = 'm.file_id = l.file_id and m.seq = l.seq';
const open = `d.state in ('OPEN', 'RETRYING', 'MANUAL')`;

const statementRules: Rule[] = [
  {
    check: 'statement',
    table: 'statement_file',
    sql: `select concat(f.id, '') as item from statement_file f
           where f.state in ${counted}
             and (f.lines_new <> (select count(*) from statement_line l where l.file_id = f.id)
                  or f.lines_new + f.lines_known <> f.staged_lines)`,
    problem: 'has another number of lines than it says',
  },
  {
    check: 'statement',
    table: 'statement_total',
    sql: `select concat(t.file_id, '/', t.statement_no, ' ', t.currency) as item
            from statement_total t join statement_file f on f.id = t.file_id and f.lines_known = 0
           where t.line_count <> (select count(*) from statement_line l
                                   where l.file_id = t.file_id and l.statement_no = t.statement_no
                                     and l.currency = t.currency and l.state = 'DONE')`,
    problem: 'counts other lines than there are',
  },
  {
    check: 'statement',
    table: 'statement_line',
    sql: `select ${line} as item from statement_line l
            join statement_file f on f.id = l.file_id and f.state in ${counted} and l.seq <= f.matched_to
            join statement_head h on h.file_id = l.file_id and h.statement_no = l.statement_no and h.intraday = 0
           where l.state = 'DONE' and l.kind not in ('FEE', 'TRANSFER')
             and not exists (select 1 from statement_match m where ${ofMatch})
             and not exists (select 1 from statement_loose o where o.file_id = l.file_id and o.seq = l.seq)`,
    problem: 'was looked at, and has neither a match nor a place among those without one',
  },
  {
    check: 'statement',
    table: 'statement_loose',
    sql: `select ${match} as item from statement_match m
            join statement_loose o on o.file_id = m.file_id and o.seq = m.seq where m.part <= 1`,
    problem: 'has a match and is among the lines without one',
  },
  {
    check: 'statement',
    table: 'statement_line',
    sql: `select ${line} as item from statement_line l left join statement_file f on f.id = l.file_id where f.id is null`,
    problem: 'is of a file that does not exist',
  },
];

const paid = `(p.state = 'SUCCESS' or (p.state = 'FAILED' and exists (select 1 from statement_match r
  where r.ours = 'PAYOUT' and r.ours_id = p.id and r.role = 'RETURNED')))`;
const orderMinor = `case when o.type in ('REFUND', 'FEE') then -o.amount_minor else o.amount_minor end`;
const lineMinor = `case when l.direction = 'CREDIT' then l.amount_minor else -l.amount_minor end`;

const matchRules: Rule[] = [
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select ${match} as item from statement_match m
            left join statement_line l on ${ofLine}
            left join payout p on m.ours = 'PAYOUT' and p.id = m.ours_id
            left join ${orders} on m.ours = 'ORDER' and o.id = m.ours_id
           where l.file_id is null or (p.id is null and o.id is null)`,
    problem: 'has only one side',
  },
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select ${match} as item from statement_match m
            join statement_line l on ${ofLine} join payout p on p.id = m.ours_id
           where m.ours = 'PAYOUT' and m.verdict = 'AGREES'
             and (l.currency <> p.currency or (m.part = 0 and l.amount_minor <> p.amount_minor)
                  or (m.role = 'MOVED' and (not ${paid} or l.direction <> 'DEBIT' or l.state <> 'DONE'))
                  or (m.role in ('RETURNED', 'REFUSED') and p.state <> 'FAILED'))`,
    problem: 'agrees, and its two sides do not',
  },
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select ${match} as item from statement_match m
            join statement_line l on ${ofLine} join ${orders} on o.id = m.ours_id
           where m.ours = 'ORDER' and m.verdict = 'AGREES'
             and (l.currency <> o.currency
                  or (m.role = 'MOVED' and ${lineMinor} <> ${orderMinor})
                  or (m.role = 'MOVED' and l.state <> 'DONE'))`,
    problem: 'agrees, and its two sides do not',
  },
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select ${match} as item from statement_match m
            join statement_line l on ${ofLine} join payout p on p.id = m.ours_id
           where m.ours = 'PAYOUT' and m.verdict = 'AMOUNT' and l.amount_minor = p.amount_minor`,
    problem: 'differs in amount, and its two sides do not',
  },
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select concat(x.file_id, '/', x.seq) as item
            from (select m.file_id, m.seq, sum(p.amount_minor) as paid, count(*) as parts, max(m.part) as last_part
                    from statement_match m join payout p on p.id = m.ours_id
                   where m.part > 0 and m.ours = 'PAYOUT' group by m.file_id, m.seq) x
            join statement_line l on l.file_id = x.file_id and l.seq = x.seq
           where l.amount_minor <> x.paid or x.parts <> x.last_part
              or (l.batch_count is not null and l.batch_count <> x.parts)`,
    problem: 'is a batch booking, and its payouts do not come to it',
  },
  {
    check: 'statement-match',
    table: 'statement_match',
    sql: `select ${match} as item from statement_match m
           where m.verdict <> 'AGREES' and not exists
                 (select 1 from discrepancy d
                   where d.class = m.verdict and d.ours = m.ours and d.ours_id = m.ours_id)`,
    problem: 'differs, and no discrepancy tells of it',
  },
];

const lastMove = `(select max(v.id) from discrepancy_move v where v.discrepancy_id = d.id)`;

/** From which state to which a discrepancy may move, as the design has it. */
const lawful = [
  ...['OPEN RETRYING', 'OPEN MANUAL', 'OPEN RESOLVED', 'RETRYING MANUAL', 'RETRYING RESOLVED', 'MANUAL RETRYING'],
  ...['MANUAL RESOLVED', 'MANUAL IGNORED', 'RESOLVED OPEN'],
]
  .map((pair) => `'${pair}'`)
  .join(', ');

const discrepancyRules: Rule[] = [
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
            left join discrepancy_move m on m.id = ${lastMove}
           where m.id is null or m.to_state <> d.state`,
    problem: 'is not where its history ends',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
           where d.version <> (select count(*) from discrepancy_move m
                                where m.discrepancy_id = d.id and m.from_state is not null and m.from_state <> m.to_state)
              or 1 <> (select count(*) from discrepancy_move m where m.discrepancy_id = d.id and m.event = 'find')`,
    problem: 'has another history than its version',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy_move',
    sql: `select concat(x.id, '') as item
            from (select m.id, m.from_state, m.to_state,
                         lag(m.to_state) over (partition by m.discrepancy_id order by m.id) as before_state
                    from discrepancy_move m) x
           where (x.before_state is null and x.from_state is not null) or x.before_state <> x.from_state
              or (x.before_state is not null and x.from_state is null)
              or (x.from_state <> x.to_state and concat(x.from_state, ' ', x.to_state) not in (${lawful}))`,
    problem: 'is no move that could have followed the one before',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
           where d.closed_by = 'PERSON'
             and not exists (select 1 from discrepancy_review r where r.discrepancy_id = d.id)`,
    problem: 'was closed by a person, and nobody signed for it',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
           where ${open} and d.scope = 'LINES' and d.class in ('MISSING_OURS', 'DUPLICATE')
             and not exists (select 1 from statement_loose o
                              where o.file_id = d.file_id and o.seq = d.seq
                                and o.why = case when d.class = 'DUPLICATE' then 'DUPLICATE' else 'NOT_FOUND' end)`,
    problem: 'is open, and its line has found its counterpart',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
            join statement_match m on m.ours = d.ours and m.ours_id = d.ours_id and m.role = 'MOVED'
           where ${open} and d.class = 'MISSING_THEIRS'`,
    problem: 'is open, and a statement has it',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
           where ${open} and d.scope = 'LINES' and d.ours is not null and d.class in ('AMOUNT', 'CURRENCY', 'STATE', 'FEE')
             and not exists (select 1 from statement_match m
                              where m.ours = d.ours and m.ours_id = d.ours_id and m.verdict = d.class)`,
    problem: 'is open, and the match that it tells of does not differ so',
  },
  {
    check: 'discrepancy',
    table: 'statement_loose',
    sql: `select concat(o.file_id, '/', o.seq) as item from statement_loose o
           where o.why = 'DUPLICATE' and not exists
                 (select 1 from discrepancy d where d.file_id = o.file_id and d.seq = o.seq and d.class = 'DUPLICATE')`,
    problem: 'is a duplicate, and no discrepancy tells of it',
  },
  {
    check: 'discrepancy',
    table: 'discrepancy',
    sql: `select concat(d.id, '') as item from discrepancy d
            left join journal_entry j on j.biz_no = d.adjustment
            left join ledger_entry e on e.journal_entry_id = j.id and e.ledger_account = d.book_account
                                    and e.sub_account = d.book_sub and e.currency = d.currency
           where d.adjustment is not null
             and (e.journal_entry_id is null
                  or concat(e.side, ' ', e.amount_minor) <> case when d.effect_minor < 0
                       then concat('CREDIT ', substr(concat(d.effect_minor, ''), 2)) else concat('DEBIT ', d.effect_minor) end
                  or 2 > (select count(*) from discrepancy_review r where r.discrepancy_id = d.id and r.decision = 'ADJUST'))`,
    problem: 'was adjusted, and the books or the two signatures do not say so',
  },
];

/** Statements against their lines, matches against both sides, discrepancies against their cause and their history. */
export async function checkStatements(session: Session, checklist: Checklist): Promise<void> {
  for (const [check, table] of [
    ['statement', 'statement_file'],
    ['statement-match', 'statement_match'],
    ['discrepancy', 'discrepancy'],
  ] as const) {
    const [row] = await session.rows(`select count(*) as examined from ${table}`);
    checklist.examine(check, toCount(row?.['examined']));
  }
  for (const { check, table, sql, problem } of [...statementRules, ...matchRules, ...discrepancyRules]) {
    const named = sql.replace(orders, () => orderRows(session, 'o'));
    const rows = await session.rows(`select x.item from (${named}) x order by x.item limit ${String(listedMax)}`);
    for (const row of rows) checklist.contradict(check, table, String(row['item']), problem);
  }
}
