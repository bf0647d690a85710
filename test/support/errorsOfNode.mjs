import { types } from 'node:util';

// Jest runs each test file in a realm of its own, where the errors that Node itself makes (ECONNRESET of a socket) are no
// instances of that realm's Error. Outside Jest there is one realm; this makes the tests see what the program sees.
Object.defineProperty(Error, Symbol.hasInstance, {
  value(candidate) {
    return (
      Function.prototype[Symbol.hasInstance].call(this, candidate) || (this === Error && types.isNativeError(candidate))
    );
  },
});
