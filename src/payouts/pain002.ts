import { SaxesParser } from 'saxes';
import { FileRefusal } from '../orders/importProblems.js';

/** What a bank says of all payments of a file, of those of a group, or of one. */
export interface ReportedStatus {
  /** Four letters, such as ACSC or RJCT; null: nothing is said at this level. */
  status: string | null;
  /** Codes of reasons, in the order of the report. */
  reasons: string[];
  line: number;
}

export interface ReportedPayment extends ReportedStatus {
  endToEndId: string | null;
  instructionId: string | null;
  /** The group in which the payment stands. */
  groupId: string | null;
  /** As the bank states it, in major units; null where it does not. */
  amount: { text: string; currency: string } | null;
}

/** A payment status report, ISO 20022 pain.002.001. */
export interface StatusReport {
  messageId: string;
  originalMessageId: string;
  file: ReportedStatus;
  groups: (ReportedStatus & { groupId: string | null })[];
  payments: ReportedPayment[];
}

const namespace = /^urn:iso:std:iso:20022:tech:xsd:pain\.002\.001\.(0[3-9]|1[0-9])$/;
const bytesMax = 64 * 1024 * 1024;
const depthMax = 24;
const textMax = 10_000;
const paymentsMax = 100_000;

/**
 * Reads a payment status report as it comes in. Throws a FileRefusal that names the line: for what is not well-formed, is
 * no such report, declares a document type (and so could expand entities), or is larger than any report on one file.
 */
export async function readStatusReport(chunks: AsyncIterable<Buffer>): Promise<StatusReport> {
  const reader = new ReportReader();
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new FileRefusal('RECORD_TOO_LONG', 'The file is longer than 64 MiB.');
    reader.write(chunk.toString());
  }
  if (bytes === 0) throw new FileRefusal('EMPTY_FILE', 'The file has no content.');
  return reader.end();
}

class ReportReader {
  private readonly parser = new SaxesParser({ xmlns: true, position: true });
  private readonly path: string[] = [];
  private text = '';
  private currency = '';
  private readonly report: StatusReport;
  private group: StatusReport['groups'][number];
  private payment: ReportedPayment;

  constructor() {
    this.report = { messageId: '', originalMessageId: '', file: this.nothing(), groups: [], payments: [] };
    this.group = { ...this.nothing(), groupId: null };
    this.payment = this.noPayment();
    this.parser.on('error', (error) => {
      throw this.refusal('BAD_XML', `is not well-formed: ${error.message.replace(/^[0-9:]+ */, '')}`);
    });
    this.parser.on('doctype', () => {
      throw this.refusal('BAD_XML', 'declares a document type, which no report has.');
    });
    this.parser.on('opentag', ({ local, uri, attributes }) => {
      this.open(local, uri, attributes['Ccy']?.value ?? '');
    });
    this.parser.on('closetag', () => {
      this.close();
    });
    for (const kind of ['text', 'cdata'] as const) {
      this.parser.on(kind, (text) => {
        this.text += text;
        if (this.text.length > textMax) throw this.refusal('RECORD_TOO_LONG', 'is in a text without an end.');
      });
    }
  }

  write(text: string): void {
    this.parser.write(text);
  }

  end(): StatusReport {
    this.parser.close();
    const { messageId, originalMessageId } = this.report;
    if (messageId === '' || originalMessageId === '') {
      throw new FileRefusal('NOT_A_REPORT', 'The report lacks its own message id, or that of the payment file.');
    }
    return this.report;
  }

  private open(local: string, uri: string, currency: string): void {
    const depth = this.path.length;
    const expected = ['Document', 'CstmrPmtStsRpt'][depth];
    if (!namespace.test(uri) || (expected !== undefined && local !== expected)) {
      throw this.refusal('NOT_A_REPORT', 'is not of a payment status report (pain.002.001.03 or later).');
    }
    if (depth >= depthMax) throw this.refusal('BAD_XML', 'is nested too deeply.');
    this.path.push(local);
    this.text = '';
    this.currency = currency;
    const place = this.place;
    if (place === 'OrgnlGrpInfAndSts') this.report.file = this.nothing();
    if (place === 'OrgnlPmtInfAndSts') {
      this.group = { ...this.nothing(), groupId: null };
      this.report.groups.push(this.group);
    }
    if (place === 'OrgnlPmtInfAndSts/TxInfAndSts') {
      this.payment = this.noPayment();
      this.report.payments.push(this.payment);
      if (this.report.payments.length > paymentsMax) throw this.refusal('RECORD_TOO_LONG', 'is one payment too many.');
    }
  }

  private close(): void {
    const { place, text: untrimmed } = this;
    const text = untrimmed.trim();
    this.path.pop();
    this.text = '';
    const [level, rest] = place.startsWith('OrgnlPmtInfAndSts/TxInfAndSts/')
      ? [this.payment, place.slice('OrgnlPmtInfAndSts/TxInfAndSts/'.length)]
      : place.startsWith('OrgnlPmtInfAndSts/')
        ? [this.group, place.slice('OrgnlPmtInfAndSts/'.length)]
        : [this.report.file, place.replace(/^OrgnlGrpInfAndSts\//, '')];
    if (place === 'GrpHdr/MsgId') this.report.messageId = this.id(text);
    else if (place === 'OrgnlGrpInfAndSts/OrgnlMsgId') this.report.originalMessageId = this.id(text);
    else if (place === 'OrgnlPmtInfAndSts/OrgnlPmtInfId') this.group.groupId = this.id(text);
    else if (level === this.payment) this.closeOfPayment(rest, text);
    if (statusNames.has(rest)) {
      level.status = text;
      level.line = this.parser.line;
    }
    // A reason of the bank's own is kept only where it is a code: a sentence may name an account.
    if (/^StsRsnInf\/Rsn\/(Cd|Prtry)$/.test(rest)) level.reasons.push(/^[A-Za-z0-9]{1,8}$/.test(text) ? text : 'OTHER');
  }

  private closeOfPayment(place: string, text: string): void {
    if (place === 'OrgnlEndToEndId') this.payment.endToEndId = this.id(text);
    if (place === 'OrgnlInstrId') this.payment.instructionId = this.id(text);
    if (place === 'OrgnlTxRef/Amt/InstdAmt') this.payment.amount = { text, currency: this.currency };
  }

  private get place(): string {
    return this.path.slice(2).join('/');
  }

  private id(text: string): string {
    if (text.length === 0 || text.length > 35)
      throw this.refusal('NOT_A_REPORT', 'has an id that is not 1 to 35 characters.');
    return text;
  }

  private nothing(): ReportedStatus {
    return { status: null, reasons: [], line: this.parser.line };
  }

  private noPayment(): ReportedPayment {
    return { ...this.nothing(), endToEndId: null, instructionId: null, groupId: this.group.groupId, amount: null };
  }

  private refusal(code: 'BAD_XML' | 'NOT_A_REPORT' | 'RECORD_TOO_LONG', what: string): FileRefusal {
    return new FileRefusal(code, `Line ${String(this.parser.line)} ${what}`);
  }
}

const statusNames = new Set(['GrpSts', 'PmtInfSts', 'TxSts']);
