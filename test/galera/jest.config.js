import usual from '../../jest.config.js';

// The program is built by the script that starts this; each file has a cluster of its own, so no server is shared.
const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = usual;

export default {
  ...rest,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/galera/*.galera.ts'],
  testTimeout: 300_000,
};
