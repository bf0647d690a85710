import type { StatementFormat } from '../statement.js';
import type { CamtKind } from './camt.js';
import { isBai2, isCamt, isNachaReturn, mtKindOf } from './sniff.js';

const camtKinds: readonly CamtKind[] = [
  { name: 'camt.052', root: 'BkToCstmrAcctRpt', statement: 'Rpt', intraday: true, hasBalances: true },
  { name: 'camt.053', root: 'BkToCstmrStmt', statement: 'Stmt', intraday: false, hasBalances: true },
  { name: 'camt.054', root: 'BkToCstmrDbtCdtNtfctn', statement: 'Ntfctn', intraday: true, hasBalances: false },
];

/** What banks send; a file is of one of them at most. A reader is loaded when a file is read. */
export const bankFormats: readonly StatementFormat[] = [
  ...camtKinds.map((kind): StatementFormat => ({
    name: kind.name,
    sniff: (head) => isCamt(head, kind),
    async *read(source, settings) {
      const { readCamt } = await import('./camt.js');
      yield* readCamt(kind, source, settings);
    },
  })),
  ...(['mt940', 'mt942'] as const).map((kind): StatementFormat => ({
    name: kind,
    sniff: (head) => mtKindOf(head) === kind,
    async *read(source) {
      const { readMt } = await import('./mt.js');
      yield* readMt(kind, source);
    },
  })),
  {
    name: 'bai2',
    sniff: isBai2,
    async *read(source, settings) {
      const { readBai2 } = await import('./bai2.js');
      yield* readBai2(source, settings);
    },
  },
  {
    name: 'nacha-return',
    sniff: isNachaReturn,
    async *read(source) {
      const { readNacha } = await import('./nacha.js');
      yield* readNacha(source);
    },
  },
];
