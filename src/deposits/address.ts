import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';

export type AddressProblem = 'order-invalid' | 'address-checksum-invalid';

/** The address that mints and burns; nobody can be paid there. */
const nobody = `0x${'0'.repeat(40)}`;

/**
 * Reads an address of 20 bytes into lower case, which is the one spelling inside. One in mixed case must carry the checksum
 * of EIP-55; all lower or all upper case has none. The zero address is refused.
 */
export function readAddress(text: string): string | { problem: AddressProblem } {
  // As it is stored: asked of every order in every plan.
  if (/^0x[0-9a-f]{40}$/.test(text) && text !== nobody) return text;
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return { problem: 'order-invalid' };
  const lower = text.toLowerCase();
  if (lower === nobody) return { problem: 'order-invalid' };
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  return isMixed && text !== checksummed(lower) ? { problem: 'address-checksum-invalid' } : lower;
}

/** The spelling of EIP-55 of an address in lower case. */
export function checksummed(address: string): string {
  const digits = address.slice(2);
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)));
  return `0x${[...digits].map((digit, at) => ((hash[at] ?? '0') >= '8' ? digit.toUpperCase() : digit)).join('')}`;
}

/** A transaction hash of 32 bytes in lower case, or null. */
export function readHash(text: string): string | null {
  return /^0x[0-9a-fA-F]{64}$/.test(text) ? text.toLowerCase() : null;
}
