import { SaxesParser } from 'saxes';
import type { StatementSource } from '../statement.js';
import { refusal, shown, type Place } from './place.js';
import { xmlTextOf } from './xmlText.js';

/** An element with what is below it. */
export interface XmlNode extends Place {
  readonly name: string;
  readonly namespace: string;
  text: string;
  /** The attribute Ccy; empty where there is none. */
  readonly currency: string;
  readonly children: XmlNode[];
}

/** Told of every element as it opens and as it closes; what `closed` returns true for is not kept in its parent. */
export interface XmlHandler<Event> {
  opened(node: XmlNode, path: readonly XmlNode[]): void;
  closed(node: XmlNode, path: readonly XmlNode[]): boolean;
  /** What has come of it since the last call. */
  take(): Event[];
}

const depthMax = 64;
const textMax = 10_000;
const nodesMax = 20_000;
const silenceMax = 1024 * 1024;

/**
 * Reads an XML file element by element. Throws BAD_XML for what is not well-formed or declares a document type (and so
 * could expand entities), TRUNCATED for a file that ends within an element, RECORD_TOO_LONG for what no record is as
 * long as.
 */
export async function* readXml<Event>(source: StatementSource, handler: XmlHandler<Event>): AsyncIterable<Event> {
  const parser = new SaxesParser({ xmlns: true, position: true });
  const path: XmlNode[] = [];
  let [fed, heardAt, kept, ending] = [0, 0, 0, false];
  const place = (): Place => ({ line: parser.line, column: parser.columnIndex + 1 });
  parser.on('error', (error) => {
    const what = error.message.replace(/^(?:undefined:)?[0-9:]+ */, '').replace(/\.$/, '');
    throw ending && path.length > 0
      ? refusal('TRUNCATED', `The file ends within the element ${shown(path[path.length - 1]?.name ?? '')}.`, place())
      : refusal('BAD_XML', `The file is not well-formed: ${what}.`, place());
  });
  parser.on('doctype', () => {
    throw refusal('BAD_XML', 'The file declares a document type, which no statement has.', place());
  });
  parser.on('opentag', ({ local, uri, attributes }) => {
    heardAt = fed;
    if (path.length >= depthMax) throw refusal('BAD_XML', 'The file is nested too deeply.', place());
    const node = {
      name: local,
      namespace: uri,
      text: '',
      currency: attributes['Ccy']?.value ?? '',
      children: [],
      ...place(),
    };
    kept += 1;
    if (kept > nodesMax) throw refusal('RECORD_TOO_LONG', 'A record has more elements than any record has.', place());
    handler.opened(node, path);
    // What stood between two elements is white space, and of a statement grows with every entry.
    const parent = path[path.length - 1];
    if (parent !== undefined) parent.text = '';
    path.push(node);
  });
  parser.on('closetag', () => {
    heardAt = fed;
    const node = path.pop();
    if (node === undefined) return;
    if (handler.closed(node, path)) kept -= sizeOf(node);
    else path[path.length - 1]?.children.push(node);
  });
  for (const kind of ['text', 'cdata'] as const) {
    parser.on(kind, (text) => {
      const node = path[path.length - 1];
      if (node === undefined) return;
      node.text += text;
      if (node.text.length > textMax) {
        throw refusal('RECORD_TOO_LONG', `The text of ${shown(node.name)} is longer than ${String(textMax)}.`, place());
      }
    });
  }
  for await (const text of xmlTextOf(source)) {
    fed += text.length;
    if (text !== '') parser.write(text);
    if (fed - heardAt > silenceMax) throw refusal('RECORD_TOO_LONG', 'A text has no end.', place());
    yield* handler.take();
  }
  ending = true;
  parser.close();
  yield* handler.take();
}

function sizeOf(node: XmlNode): number {
  return node.children.reduce((size, child) => size + sizeOf(child), 1);
}

/** The first element at a path below; undefined where there is none. */
export function at(node: XmlNode, ...path: readonly string[]): XmlNode | undefined {
  return path.reduce<XmlNode | undefined>((found, name) => found?.children.find((child) => child.name === name), node);
}

export function allOf(node: XmlNode, name: string): XmlNode[] {
  return node.children.filter((child) => child.name === name);
}

/** The text of an element, without white space around it; undefined where it is empty or there is none. */
export function textAt(node: XmlNode, ...path: readonly string[]): string | undefined {
  const text = at(node, ...path)?.text.trim();
  return text === '' ? undefined : text;
}
