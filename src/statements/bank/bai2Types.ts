import type { LineKind } from '../statement.js';

/** The way of the money by the type code of a transaction; null where it has none or says nothing of money. */
export function isCreditType(type: string): boolean | null {
  const code = Number(type);
  if ((code > 100 && code <= 399) || (code >= 920 && code <= 959)) return true;
  if ((code > 400 && code <= 699) || (code >= 960 && code <= 999)) return false;
  return null;
}

const returnedPayouts = new Set(['123', '168', '252', '255', '257', '258', '261', '266']);
const returnedCollections = new Set(['423', '468', '552', '555', '557', '558', '561', '566']);
const ownTransfers = new Set(['275', '277', '575', '577']);
const fees = new Set(['564', '567', '661', '698']);
const interest = new Set(['354', '359', '654', '659']);

export function kindOfType(type: string, isCredit: boolean): LineKind {
  if (returnedPayouts.has(type)) return 'RETURN';
  if (returnedCollections.has(type)) return 'DISPUTE';
  if (ownTransfers.has(type)) return 'TRANSFER';
  if (fees.has(type)) return 'FEE';
  if (interest.has(type)) return 'OTHER';
  return isCredit ? 'PAYMENT' : 'PAYOUT';
}
