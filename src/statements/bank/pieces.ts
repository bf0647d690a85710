import { refusal } from './place.js';
import type { StatementSource } from '../statement.js';

const pieceBytes = 64 * 1024;

/** The bytes of a file in pieces of bounded size. Throws EMPTY_FILE. */
export async function* piecesOf(source: StatementSource): AsyncIterable<Buffer> {
  let empty = true;
  for await (const chunk of source.chunks()) {
    for (let at = 0; at < chunk.length; at += pieceBytes) yield chunk.subarray(at, at + pieceBytes);
    empty &&= chunk.length === 0;
  }
  if (empty) throw refusal('EMPTY_FILE', 'The file has no content.', null);
}
