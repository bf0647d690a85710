import { SaxesParser } from 'saxes';

// The rules of the published schema of pain.001.001.09 for the elements that we write: which follow one another, how
// often, and what a text may be.

const id = /^.{1,35}$/;
const name = /^.{1,70}$/;
const iban = /^[A-Z]{2}[0-9]{2}[a-zA-Z0-9]{1,30}$/;
const day = /^\d{4}-\d\d-\d\d$/;
const count = /^[0-9]{1,15}$/;
const sum = /^(?!.{20})\d+(\.\d{1,17})?$/;

type Rule = RegExp | string;

/** By the path below CstmrCdtTrfInitn: a pattern of children ("A B? C+"), or of the text. */
const rules: Record<string, Rule> = {
  '': 'GrpHdr PmtInf+',
  GrpHdr: 'MsgId CreDtTm NbOfTxs CtrlSum? InitgPty',
  'GrpHdr/MsgId': id,
  'GrpHdr/CreDtTm': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  'GrpHdr/NbOfTxs': count,
  'GrpHdr/CtrlSum': sum,
  'GrpHdr/InitgPty': 'Nm',
  'GrpHdr/InitgPty/Nm': name,
  PmtInf:
    'PmtInfId PmtMtd BtchBookg? NbOfTxs? CtrlSum? PmtTpInf? ReqdExctnDt Dbtr DbtrAcct DbtrAgt ChrgBr? CdtTrfTxInf+',
  'PmtInf/PmtInfId': id,
  'PmtInf/PmtMtd': /^TRF$/,
  'PmtInf/BtchBookg': /^(true|false)$/,
  'PmtInf/NbOfTxs': count,
  'PmtInf/CtrlSum': sum,
  'PmtInf/PmtTpInf': 'SvcLvl',
  'PmtInf/PmtTpInf/SvcLvl': 'Cd',
  'PmtInf/PmtTpInf/SvcLvl/Cd': /^SEPA$/,
  'PmtInf/ReqdExctnDt': 'Dt',
  'PmtInf/ReqdExctnDt/Dt': day,
  'PmtInf/Dbtr': 'Nm',
  'PmtInf/Dbtr/Nm': name,
  'PmtInf/DbtrAcct': 'Id',
  'PmtInf/DbtrAcct/Id': 'IBAN',
  'PmtInf/DbtrAcct/Id/IBAN': iban,
  'PmtInf/DbtrAgt': 'FinInstnId',
  'PmtInf/DbtrAgt/FinInstnId': 'BICFI? Othr?',
  'PmtInf/DbtrAgt/FinInstnId/BICFI': /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$/,
  'PmtInf/DbtrAgt/FinInstnId/Othr': 'Id',
  'PmtInf/DbtrAgt/FinInstnId/Othr/Id': id,
  'PmtInf/ChrgBr': /^(SLEV|SHAR)$/,
  'PmtInf/CdtTrfTxInf': 'PmtId Amt Cdtr CdtrAcct RmtInf?',
  'PmtInf/CdtTrfTxInf/PmtId': 'InstrId? EndToEndId',
  'PmtInf/CdtTrfTxInf/PmtId/InstrId': id,
  'PmtInf/CdtTrfTxInf/PmtId/EndToEndId': id,
  'PmtInf/CdtTrfTxInf/Amt': 'InstdAmt',
  'PmtInf/CdtTrfTxInf/Amt/InstdAmt': /^(?!.{20})\d+(\.\d{1,5})?$/,
  'PmtInf/CdtTrfTxInf/Cdtr': 'Nm',
  'PmtInf/CdtTrfTxInf/Cdtr/Nm': name,
  'PmtInf/CdtTrfTxInf/CdtrAcct': 'Id',
  'PmtInf/CdtTrfTxInf/CdtrAcct/Id': 'IBAN',
  'PmtInf/CdtTrfTxInf/CdtrAcct/Id/IBAN': iban,
  'PmtInf/CdtTrfTxInf/RmtInf': 'Ustrd',
  'PmtInf/CdtTrfTxInf/RmtInf/Ustrd': /^.{1,140}$/,
};

/** The texts of a payment file by their path, and what in it is against the rules. */
export function readPaymentFile(xml: string): { texts: { path: string; text: string }[]; faults: string[] } {
  const faults: string[] = [];
  const texts: { path: string; text: string }[] = [];
  const open: { name: string; children: string[]; text: string }[] = [];
  const parser = new SaxesParser({ xmlns: true });
  parser.on('error', (error) => faults.push(error.message));
  parser.on('opentag', ({ local, uri, attributes }) => {
    if (uri !== 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09') faults.push(`namespace ${uri}`);
    if ((attributes['Ccy'] === undefined) === (local === 'InstdAmt')) faults.push(`currency of ${local}`);
    open[open.length - 1]?.children.push(local);
    open.push({ name: local, children: [], text: '' });
  });
  parser.on('text', (text) => {
    const last = open[open.length - 1];
    if (last !== undefined) last.text += text;
  });
  parser.on('closetag', () => {
    const path = open
      .slice(2)
      .map((one) => one.name)
      .join('/');
    const last = open.pop();
    if (last === undefined || open.length === 0) return;
    const rule = rules[path];
    const found = last.children.length > 0 ? last.children.map((child) => `${child} `).join('') : last.text;
    const pattern = typeof rule === 'string' ? childrenOf(rule) : rule;
    if (pattern?.test(found) !== true) faults.push(`${path}: ${found}`);
    if (last.children.length === 0) texts.push({ path, text: last.text });
  });
  parser.write(xml).close();
  return { texts, faults };
}

function childrenOf(rule: string): RegExp {
  return new RegExp(
    `^${rule
      .split(' ')
      .map((child) => child.replace(/^(\w+)(.?)$/, '($1 )$2'))
      .join('')}$`,
  );
}
