import usual from '../../jest.config.js';

// The program is built by the script that starts this, and the benchmark has servers of its own.
const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = usual;

export default {
  ...rest,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/bench/*.check.ts'],
};
