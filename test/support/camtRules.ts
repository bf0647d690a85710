import { SaxesParser } from 'saxes';

// The rules of the published schemas of camt.052, .053 and .054, versions 2 to 8, for the elements that our samples hold:
// which follow one another, how often, and what a text may be. The versions differ where the functions below say so.

type Rule = RegExp | string;

const text = (max: number): RegExp => new RegExp(`^[^]{1,${String(max)}}$`);
const day = /^\d{4}-\d\d-\d\d(Z|[+-]\d\d:\d\d)?$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/;
const amount = /^0*(?=\d)(?!\d*\.?\d*\d{19})(?:\d{1,18}|(?=[\d.]{1,19}$)\d*\.\d{1,5})$/;
const decimal = /^-?(?=[\d.]{1,19}$)\d+(\.\d{1,17})?$/;
const count = /^\d{1,15}$/;
const flag = /^(true|false|0|1)$/;
const mark = /^(CRDT|DBIT)$/;

const references = 'MsgId? AcctSvcrRef? PmtInfId? InstrId? EndToEndId?';
const charge = 'Amt CdtDbtInd?';

/** Which children an element has, by what stands above it: the path below Document. */
function rulesOf(version: number, statement: string): Record<string, Rule> {
  const isOld = version <= 3;
  const hasPaging = version >= 4;
  const paging = { Stmt: 'StmtPgntn', Rpt: 'RptPgntn', Ntfctn: 'NtfctnPgntn' }[statement] ?? '';
  const balances = { Stmt: 'Bal+ ', Rpt: 'Bal* ', Ntfctn: '' }[statement] ?? '';
  const created = version >= 8 ? 'CreDtTm?' : 'CreDtTm';
  const money = version <= 3 ? '' : version >= 8 ? 'Amt? CdtDbtInd? ' : 'Amt CdtDbtInd ';
  const party: Record<string, Rule> = version >= 8 ? { Dbtr: 'Pty', Pty: 'Nm?' } : { Dbtr: 'Nm?' };
  return {
    GrpHdr: 'MsgId CreDtTm MsgPgntn?',
    MsgPgntn: 'PgNb LastPgInd',
    [paging]: 'PgNb LastPgInd',
    [statement]: `Id ${hasPaging ? `${paging}? ` : ''}ElctrncSeqNb? ${created} FrToDt? Acct ${balances}TxsSummry? Ntry*`,
    FrToDt: 'FrDtTm ToDtTm',
    Acct: 'Id Ccy? Ownr?',
    'Acct/Id': '(IBAN|Othr)',
    Othr: 'Id',
    Ownr: 'Nm?',
    Bal: 'Tp Amt CdtDbtInd Dt',
    'Bal/Tp': 'CdOrPrtry',
    CdOrPrtry: '(Cd|Prtry)',
    'Bal/Dt': '(Dt|DtTm)',
    TxsSummry: 'TtlNtries? TtlCdtNtries? TtlDbtNtries?',
    TtlNtries: `NbOfNtries? Sum? ${isOld ? 'TtlNetNtryAmt? CdtDbtInd?' : 'TtlNetNtry?'}`,
    TtlNetNtry: 'Amt CdtDbtInd',
    TtlCdtNtries: 'NbOfNtries? Sum?',
    TtlDbtNtries: 'NbOfNtries? Sum?',
    Ntry: 'NtryRef? Amt CdtDbtInd RvslInd? Sts BookgDt? ValDt? AcctSvcrRef? BkTxCd NtryDtls*',
    Sts: version >= 8 ? '(Cd|Prtry)' : /^(BOOK|PDNG|INFO)$/,
    'Sts/Cd': text(4),
    BookgDt: '(Dt|DtTm)',
    ValDt: '(Dt|DtTm)',
    BkTxCd: 'Domn? Prtry?',
    Domn: 'Cd Fmly',
    Fmly: 'Cd SubFmlyCd',
    'BkTxCd/Prtry': 'Cd',
    NtryDtls: 'Btch? TxDtls*',
    Btch: 'MsgId? PmtInfId? NbOfTxs?',
    TxDtls: `Refs? ${money}AmtDtls? Chrgs${isOld ? '*' : '?'} RltdPties? RltdAgts? RmtInf? RtrInf?`,
    Refs: `${references} ${version >= 8 ? 'UETR? ' : ''}TxId?`,
    AmtDtls: 'InstdAmt? TxAmt?',
    InstdAmt: 'Amt',
    TxAmt: 'Amt',
    Chrgs: isOld ? charge : 'TtlChrgsAndTaxAmt? Rcrd*',
    Rcrd: 'Amt CdtDbtInd? ChrgInclInd?',
    RltdPties: 'Dbtr?',
    ...party,
    RltdAgts: 'DbtrAgt?',
    DbtrAgt: 'FinInstnId',
    FinInstnId: isOld ? 'BIC?' : 'BICFI?',
    RmtInf: 'Strd*',
    Strd: 'CdtrRefInf?',
    CdtrRefInf: 'Ref?',
    RtrInf: 'Rsn?',
    Rsn: '(Cd|Prtry)',
    ...textRules,
  };
}

const textRules: Record<string, Rule> = {
  MsgId: text(35),
  Id: text(35),
  CreDtTm: time,
  PgNb: /^\d{1,5}$/,
  LastPgInd: flag,
  ElctrncSeqNb: /^\d{1,18}$/,
  FrDtTm: time,
  ToDtTm: time,
  IBAN: /^[A-Z]{2}\d\d[a-zA-Z0-9]{1,30}$/,
  'Othr/Id': text(34),
  Ccy: /^[A-Z]{3}$/,
  Nm: text(140),
  Cd: text(4),
  'Prtry/Cd': text(35),
  SubFmlyCd: text(4),
  Amt: amount,
  'TtlNetNtry/Amt': decimal,
  TtlChrgsAndTaxAmt: amount,
  TtlNetNtryAmt: decimal,
  Sum: decimal,
  CdtDbtInd: mark,
  'Bal/Dt/Dt': day,
  'BookgDt/Dt': day,
  'ValDt/Dt': day,
  DtTm: time,
  NbOfNtries: count,
  NbOfTxs: count,
  NtryRef: text(35),
  RvslInd: flag,
  AcctSvcrRef: text(35),
  PmtInfId: text(35),
  InstrId: text(35),
  EndToEndId: text(35),
  TxId: text(35),
  UETR: /^[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$/,
  ChrgInclInd: flag,
  BIC: /^[A-Z]{6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3})?$/,
  BICFI: /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$/,
  Ref: text(35),
};

const roots: Record<string, { root: string; statement: string }> = {
  '052': { root: 'BkToCstmrAcctRpt', statement: 'Rpt' },
  '053': { root: 'BkToCstmrStmt', statement: 'Stmt' },
  '054': { root: 'BkToCstmrDbtCdtNtfctn', statement: 'Ntfctn' },
};

/** What of a camt message is against the rules of its version. */
export function camtFaults(xml: string): string[] {
  const faults: string[] = [];
  const open: { name: string; children: string[]; text: string }[] = [];
  let rules: Record<string, Rule> = {};
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => faults.push(error.message));
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (open.length === 0) {
      const [, kind = '', version = ''] =
        /^urn:iso:std:iso:20022:tech:xsd:camt\.(05[234])\.001\.(0[2-8])$/.exec(uri) ?? [];
      const message = roots[kind];
      if (message === undefined || local !== 'Document') faults.push(`${local} of ${uri}`);
      else {
        const { root, statement } = message;
        rules = { ...rulesOf(Number(version), statement), Document: root, [root]: `GrpHdr ${statement}+` };
      }
    }
    const isAmount = ['Amt', 'TtlChrgsAndTaxAmt'].includes(local) && open[open.length - 1]?.name !== 'TtlNetNtry';
    if (isAmount !== /^[A-Z]{3}$/.test(attributes['Ccy']?.value ?? '')) faults.push(`currency of ${local}`);
    open[open.length - 1]?.children.push(local);
    open.push({ name: local, children: [], text: '' });
  });
  parser.on('text', (found) => {
    const last = open[open.length - 1];
    if (last !== undefined) last.text += found;
  });
  parser.on('closetag', () => {
    const names = open.map(({ name }) => name);
    const last = open.pop();
    if (last === undefined) return;
    const rule = [3, 2, 1].map((deep) => rules[names.slice(-deep).join('/')]).find((one) => one !== undefined);
    const found = last.children.length > 0 ? last.children.map((child) => `${child} `).join('') : last.text;
    const pattern = typeof rule === 'string' ? childrenOf(rule) : rule;
    if (pattern?.test(found) !== true) faults.push(`${names.join('/')}: ${found}`);
  });
  parser.write(xml).close();
  return faults;
}

function childrenOf(rule: string): RegExp {
  const parts = rule.split(' ').map((part) => {
    const [, names = '', times = ''] = /^(\(.*\)|\w+)([?*+]?)$/.exec(part) ?? [];
    return `(?:${names} )${times}`;
  });
  return new RegExp(`^${parts.join('')}$`);
}
