import { types } from 'node:util';

// Jest runs each test file in a realm of its own. Errors that Node makes (ECONNRESET of a socket) are no instances of that
// realm's Error, nor are those of better-sqlite3, whose native part keeps the error class of the first file that loaded
// it. Outside Jest there is one realm; this makes the tests see what the program sees.
Object.defineProperty(Error, Symbol.hasInstance, {
  value(candidate) {
    if (Function.prototype[Symbol.hasInstance].call(this, candidate)) return true;
    return this === Error && (types.isNativeError(candidate) || descendsFromAnError(candidate));
  },
});

function descendsFromAnError(candidate) {
  if (typeof candidate !== 'object') return false;
  for (let link = candidate; link !== null; link = Object.getPrototypeOf(link)) {
    if (Object.hasOwn(link, 'constructor') && link.constructor?.name === 'Error') return true;
  }
  return false;
}
