import type { StatementEvent, StatementSettings, StatementSource } from '../statement.js';
import { CamtStatement, pageOf, type CamtPage } from './camtStatement.js';
import { refusal, shown, type Place } from './place.js';
import { readXml, type XmlHandler, type XmlNode } from './xml.js';

/** A message of cash management (ISO 20022): its root below Document, and what a statement is called in it. */
export interface CamtKind {
  readonly name: 'camt.052' | 'camt.053' | 'camt.054';
  readonly root: string;
  readonly statement: string;
  /** Its lines come again in a statement of the day. */
  readonly intraday: boolean;
  readonly hasBalances: boolean;
}

/** Reads a camt message of any version, by the local names of its elements. */
export async function* readCamt(
  kind: CamtKind,
  source: StatementSource,
  settings: StatementSettings,
): AsyncIterable<StatementEvent> {
  const reader = new CamtReader(kind, settings);
  yield* readXml(source, reader);
  if (reader.isEmpty) throw refusal('NOT_A_STATEMENT', `The file holds no message ${kind.name}.`, null);
}

class CamtReader implements XmlHandler<StatementEvent> {
  private events: StatementEvent[] = [];
  /** How deep the Document lies: banks wrap it in envelopes. */
  private documentDepth: number | null = null;
  private page: CamtPage | null = null;
  private statement: CamtStatement | null = null;
  private statements = 0;

  constructor(
    private readonly kind: CamtKind,
    private readonly settings: StatementSettings,
  ) {}

  get isEmpty(): boolean {
    return this.statements === 0;
  }

  opened(node: XmlNode, path: readonly XmlNode[]): void {
    if (this.documentDepth === null) {
      if (node.name === 'Document' && node.namespace.includes('camt.')) {
        this.documentDepth = path.length;
        this.page = null;
      } else if (path.length > 3) throw this.isNone(node);
      return;
    }
    const depth = path.length - this.documentDepth;
    const { namespace } = path[this.documentDepth] ?? node;
    if (depth === 1 && node.name !== this.kind.root) throw this.isNone(node);
    if (depth <= 3 && node.namespace !== namespace) throw this.isNone(node);
    if (depth === 2 && node.name === this.kind.statement) {
      const { intraday, hasBalances } = this.kind;
      this.statements += 1;
      this.statement = new CamtStatement(intraday, hasBalances, this.page, this.settings.timeZone);
    }
  }

  closed(node: XmlNode, path: readonly XmlNode[]): boolean {
    if (this.documentDepth === null) return true;
    const depth = path.length - this.documentDepth;
    if (depth === 2) this.closedBelowRoot(node);
    if (depth === 0) this.endDocument(node);
    if (depth <= 2) return true;
    const { statement } = this;
    if (statement === null) return path[this.documentDepth + 2]?.name !== 'GrpHdr';
    if (depth === 3) {
      this.events.push(...statement.child(node));
      return true;
    }
    const entry = path[this.documentDepth + 3];
    if (entry?.name !== 'Ntry') return false;
    if (depth === 4 && node.name === 'NtryDtls') statement.endBatch(node);
    else if (depth === 5 && node.name === 'TxDtls' && path[this.documentDepth + 4]?.name === 'NtryDtls') {
      statement.transaction(node, entry);
    } else return false;
    return true;
  }

  take(): StatementEvent[] {
    const { events } = this;
    this.events = [];
    return events;
  }

  private closedBelowRoot(node: XmlNode): void {
    if (node.name === 'GrpHdr') {
      const page = node.children.find(({ name }) => name === 'MsgPgntn');
      if (page !== undefined) this.page = pageOf(page);
    }
    if (node.name !== this.kind.statement || this.statement === null) return;
    this.events.push(...this.statement.end(node));
    this.statement = null;
  }

  private endDocument(place: Place): void {
    this.documentDepth = null;
    if (this.statements > 0) return;
    throw refusal('NOT_A_STATEMENT', `The message holds no ${this.kind.statement}.`, place);
  }

  private isNone(node: XmlNode): Error {
    const text = `The element ${shown(node.name)} is not of a message ${this.kind.name} (${this.kind.root}).`;
    return refusal('NOT_A_STATEMENT', text, node);
  }
}
