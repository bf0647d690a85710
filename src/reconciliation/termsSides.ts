import type { Session } from '../db/session.js';
import { exactSum, sumIn, toText } from '../db/values.js';
import type { Sides } from './ledgerProof.js';
import { effectOnPayable } from './termsProof.js';

/** What one reason made of what accounts are owed (of fee income, for the rounding), told and booked. */
export interface TermsSides extends Sides {
  reason: string;
}

/** A day's terms as nets and effects tell them, posted ones only, beside what the ledger booked; by reason and currency. */
export async function termsSides(session: Session, batchDay: string): Promise<TermsSides[]> {
  const sides = new Map<string, TermsSides>();
  const at = (reason: string, currency: string): TermsSides => {
    const side = sides.get(`${reason} ${currency}`) ?? { reason, currency, expectedMinor: 0n, actualMinor: 0n };
    sides.set(`${reason} ${currency}`, side);
    return side;
  };
  const fees = await session.rows(
    `select n.currency, ${exactSum(session.dialect, 'case when j.id is null then 0 else -n.fee_minor end', 'due')}
       from chunk c join net n on n.run_id = c.run_id and n.chunk_no = c.chunk_no
       left join journal_entry j on j.biz_no = n.biz_no
      where c.batch_day = ? and n.terms_id is not null group by n.currency order by n.currency`,
    [batchDay],
  );
  for (const row of fees) at('FEE_PLAN', toText(row['currency'])).expectedMinor += sumIn(row, 'due');
  const effects = await session.rows(
    `select t.reason, t.currency,
            ${exactSum(session.dialect, `case t.reason when 'FEE_ROUNDING' then t.amount_minor else ${effectOnPayable} end`, 'due')}
       from terms_effect t join journal_entry j on j.biz_no = t.biz_no
      where t.batch_day = ? group by t.reason, t.currency order by t.reason, t.currency`,
    [batchDay],
  );
  for (const row of effects) at(toText(row['reason']), toText(row['currency'])).expectedMinor += sumIn(row, 'due');
  if (sides.size === 0) return [];
  const booked = await session.rows(
    `select e.reason, e.currency,
            ${exactSum(session.dialect, `case e.side when 'CREDIT' then e.amount_minor else -e.amount_minor end`, 'booked')}
       from journal_entry j join ledger_entry e on e.journal_entry_id = j.id
      where j.batch_day = ? and j.type in ('SETTLEMENT', 'TERMS') and e.reason is not null
        and e.ledger_account = case e.reason when 'FEE_ROUNDING' then 'FEE_INCOME' else 'MERCHANT_PAYABLE' end
      group by e.reason, e.currency order by e.reason, e.currency`,
    [batchDay],
  );
  for (const row of booked) at(toText(row['reason']), toText(row['currency'])).actualMinor += sumIn(row, 'booked');
  return [...sides.values()];
}
