import { parseMajor, scaleOf } from '../kernel/money.js';
import { shown } from '../kernel/printable.js';
import { FileRefusal } from '../orders/importProblems.js';
import { paymentGroupId } from './pain001.js';
import type { ReportedPayment, ReportedStatus, StatusReport } from './pain002.js';

/** A payment of the file on which a bank reports. */
export interface ReportablePayment {
  readonly id: bigint;
  readonly idempotencyKey: string;
  readonly instructionId: string;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/** What the bank says of one payment. */
export interface ReportedAnswer {
  readonly kind: 'PAID' | 'REFUSED' | 'PENDING';
  /** The status, and the codes of its reasons: "RJCT AC04". */
  readonly said: string;
  readonly amountMinor: bigint;
  readonly currency: string;
}

/** Statuses of ISO 20022 (external codes of payment transactions) by what they say of the money. */
const meanings: Readonly<Record<string, ReportedAnswer['kind']>> = {
  ACSC: 'PAID',
  ACCC: 'PAID',
  RJCT: 'REFUSED',
  CANC: 'REFUSED',
  ...Object.fromEntries(
    ['RCVD', 'PDNG', 'ACTC', 'PATC', 'ACCP', 'ACFC', 'ACSP', 'ACWC', 'ACWP', 'PRES', 'BLCK'].map((status) => [
      status,
      'PENDING',
    ]),
  ),
};
/** Some are accepted and some not: said of each by itself. */
const partly = 'PART';

/**
 * What a report says of each payment of its file: what is said of one payment counts before what is said of its group, and
 * that before what is said of the file. Throws a FileRefusal that names the line, for a payment that is not in the file, a
 * status that is not known, and a report that contradicts itself.
 */
export function answersOf(report: StatusReport, payments: readonly ReportablePayment[]): Map<bigint, ReportedAnswer> {
  const answers = new Map<bigint, ReportedAnswer>();
  const answerAll = (level: ReportedStatus, those: readonly ReportablePayment[]): void => {
    const kind = meaningOf(level);
    if (kind === null) return;
    for (const { id, amountMinor, currency } of those) {
      if (contradict(answers.get(id)?.kind, kind)) throw contradiction(level);
      answers.set(id, { kind, said: said(level), amountMinor, currency });
    }
  };
  answerAll(report.file, payments);
  for (const group of report.groups) {
    const inGroup = payments.filter(
      ({ currency }) => paymentGroupId(report.originalMessageId, currency) === group.groupId,
    );
    if (group.groupId !== null && inGroup.length === 0) throw unknownPayment(group, `group ${shown(group.groupId)}`);
    answerAll(group, inGroup);
  }
  answerEach(report, payments, answers);
  return answers;
}

function answerEach(
  report: StatusReport,
  payments: readonly ReportablePayment[],
  answers: Map<bigint, ReportedAnswer>,
): void {
  const byKey = new Map(payments.map((payment) => [payment.idempotencyKey, payment]));
  const byInstruction = new Map(payments.map((payment) => [payment.instructionId, payment]));
  const told = new Map<bigint, string>();
  for (const reported of report.payments) {
    const { endToEndId, instructionId } = reported;
    const payment =
      endToEndId === null || endToEndId === 'NOTPROVIDED'
        ? byInstruction.get(instructionId ?? '')
        : byKey.get(endToEndId);
    if (payment === undefined || (instructionId !== null && instructionId !== payment.instructionId)) {
      throw unknownPayment(reported, `payment ${shown(endToEndId ?? instructionId ?? '')}`);
    }
    const kind = meaningOf(reported);
    if (kind === null) continue;
    const earlier = told.get(payment.id);
    if (contradict(answers.get(payment.id)?.kind, kind) || (earlier !== undefined && earlier !== said(reported))) {
      throw contradiction(reported);
    }
    told.set(payment.id, said(reported));
    answers.set(payment.id, { kind, said: said(reported), ...amountOf(reported, payment) });
  }
}

function meaningOf({ status, line }: ReportedStatus): ReportedAnswer['kind'] | null {
  if (status === null || status === partly) return null;
  const kind = Object.hasOwn(meanings, status) ? meanings[status] : undefined;
  if (kind !== undefined) return kind;
  throw new FileRefusal('UNKNOWN_STATUS', `Line ${String(line)} has the status ${shown(status)}, which is not known.`);
}

function contradict(a: ReportedAnswer['kind'] | undefined, b: ReportedAnswer['kind']): boolean {
  return (a === 'PAID' && b === 'REFUSED') || (a === 'REFUSED' && b === 'PAID');
}

function said({ status, reasons }: ReportedStatus): string {
  return [status ?? '', ...reasons].join(' ');
}

/** The amount that the bank states, or else the one that it was asked for. */
function amountOf(
  { amount, line }: ReportedPayment,
  payment: ReportablePayment,
): { amountMinor: bigint; currency: string } {
  if (amount === null) return { amountMinor: payment.amountMinor, currency: payment.currency };
  const scale = scaleOf(amount.currency);
  const minor = scale === undefined ? 'BAD_AMOUNT' : parseMajor(amount.text, scale);
  if (typeof minor === 'bigint') return { amountMinor: minor, currency: amount.currency };
  throw new FileRefusal('NOT_A_REPORT', `Line ${String(line)} is of a payment whose amount cannot be read.`);
}

function unknownPayment({ line }: ReportedStatus, what: string): FileRefusal {
  return new FileRefusal('UNKNOWN_PAYMENT', `Line ${String(line)} is of ${what}, which is not in the payment file.`);
}

function contradiction({ line }: ReportedStatus): FileRefusal {
  return new FileRefusal('CONTRADICTS_ITSELF', `Line ${String(line)} contradicts what the report says before.`);
}
