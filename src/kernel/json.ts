/** JSON text with bigint as string, so that neither a log line nor a document can throw or round. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? item.toString() : item), indent);
}
