import { carriageReturn, lineFeed } from './importSource.js';
import { FileRefusal } from './importProblems.js';

/** A longer record is no order but a quote that was never closed, or another kind of file. */
export const recordBytesMax = 1024 * 1024;

const [comma, quote] = [44, 34];

type Place = 'FIELD_START' | 'PLAIN' | 'QUOTED' | 'AFTER_QUOTE';

/**
 * Goes over the bytes of a CSV file without making a single value of them: where each record begins, and whether every
 * quote opens at the start of a field and closes at its end (RFC 4180). Lines end with LF, CRLF or a lone CR, also inside
 * quotes, and are counted as an editor counts them. The values are read by the CSV library; a property test holds both
 * to the same records.
 */
export class CsvStructure {
  /** Offset behind the first record: the header. */
  headerEnd: number | null = null;

  private startLines: number[] = [];
  private place: Place = 'FIELD_START';
  private line = 1;
  private lineStart = 0;
  private offset = 0;
  private recordStart: number | null = null;
  private recordLine = 1;
  private afterReturn = false;
  private quoteAt = { line: 0, column: 0 };

  /** Throws BROKEN_QUOTE or RECORD_TOO_LONG with the place. */
  scan(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (byte === lineFeed || byte === carriageReturn) this.lineEnd(byte, this.offset + at);
      else {
        this.afterReturn = false;
        if (this.recordStart === null) this.beginRecord(this.offset + at);
        if (byte === quote) this.quoteMark(this.offset + at);
        else if (this.place === 'FIELD_START') this.place = byte === comma ? 'FIELD_START' : 'PLAIN';
        else if (this.place === 'PLAIN') {
          if (byte === comma) this.place = 'FIELD_START';
        } else if (this.place === 'AFTER_QUOTE') {
          if (byte !== comma) throw this.broken(this.offset + at, 'has text behind its closing quote');
          this.place = 'FIELD_START';
        }
      }
    }
    this.offset += bytes.length;
    this.requireLength(this.offset);
  }

  /** Line on which each record begins that began since the last call. */
  takeStartLines(): number[] {
    const lines = this.startLines;
    this.startLines = [];
    return lines;
  }

  end(): void {
    if (this.place === 'QUOTED') {
      const { line, column } = this.quoteAt;
      throw new FileRefusal(
        'BROKEN_QUOTE',
        `The quote opened in line ${String(line)}, column ${String(column)} is not closed.`,
      );
    }
    this.headerEnd ??= this.offset;
  }

  private lineEnd(byte: number, offset: number): void {
    const isSecondOfPair = byte === lineFeed && this.afterReturn;
    this.afterReturn = byte === carriageReturn;
    if (!isSecondOfPair) {
      if (this.place !== 'QUOTED' && this.recordStart !== null) {
        this.requireLength(offset);
        this.headerEnd ??= offset;
        this.recordStart = null;
        this.place = 'FIELD_START';
      }
      this.line += 1;
    }
    this.lineStart = offset + 1;
  }

  private beginRecord(offset: number): void {
    this.recordStart = offset;
    this.recordLine = this.line;
    this.startLines.push(this.line);
  }

  private quoteMark(offset: number): void {
    if (this.place === 'FIELD_START') {
      this.place = 'QUOTED';
      this.quoteAt = { line: this.line, column: offset - this.lineStart + 1 };
    } else if (this.place === 'QUOTED') this.place = 'AFTER_QUOTE';
    else if (this.place === 'AFTER_QUOTE')
      this.place = 'QUOTED'; // two quotes are one inside the field
    else throw this.broken(offset, 'has a quote inside, without being quoted as a whole');
  }

  private broken(offset: number, what: string): FileRefusal {
    const column = offset - this.lineStart + 1;
    return new FileRefusal('BROKEN_QUOTE', `A field in line ${String(this.line)}, column ${String(column)} ${what}.`);
  }

  private requireLength(end: number): void {
    if (this.recordStart !== null && end - this.recordStart > recordBytesMax) {
      throw new FileRefusal(
        'RECORD_TOO_LONG',
        `The record that starts in line ${String(this.recordLine)} is longer than 1 MiB. Is a quote not closed?`,
      );
    }
  }
}
