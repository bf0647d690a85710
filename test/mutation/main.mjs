import { relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import globalSetup from '../support/globalSetup.mjs';
import globalTeardown from '../support/globalTeardown.mjs';
import { groups } from './groups.mjs';

// npm run test:mutation [-- PART_OF_A_PATH …]: changes one thing after another in the files that move money and asks
// whether their own tests notice. Needs about half an hour; prints a score a file and every change that nobody noticed.

const lowestScore = 85;
const noticed = new Set(['Killed', 'Timeout']);
const counted = new Set([...noticed, 'Survived', 'NoCoverage']);

const wanted = process.argv.slice(2);
const chosen = groups
  .map(({ mutate, tests }) => ({ mutate: mutate.filter(isWanted), tests }))
  .filter(({ mutate }) => mutate.length > 0);

function isWanted(file) {
  return wanted.length === 0 || wanted.some((part) => file.includes(part));
}

/** Mutants of a group as Stryker reports them. Each group is tried with its own tests only. */
function mutants({ mutate, tests }) {
  return new Stryker({
    mutate,
    testRunner: 'jest',
    testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
    plugins: ['@stryker-mutator/jest-runner'],
    jest: {
      projectType: 'custom',
      enableFindRelatedTests: false,
      config: {
        // One build and one server for all, made below, and not one for each mutant.
        globalSetup: null,
        globalTeardown: null,
        testMatch: tests.map((name) => `<rootDir>/test/${name}.test.ts`),
      },
    },
    coverageAnalysis: 'perTest',
    // Every run of the tests leaves its modules in memory.
    maxTestRunnerReuse: 100,
    concurrency: 1,
    timeoutMS: 20_000,
    tempDirName: 'coverage/mutation',
    ignorePatterns: ['coverage', 'fixtures'],
    reporters: ['html'],
    htmlReporter: { fileName: `coverage/mutation-${tests[0]}.html` },
    logLevel: 'warn',
    warnings: { slow: false },
  }).runMutationTest();
}

function print(text) {
  process.stdout.write(`${text}\n`);
}

function describe({ location, mutatorName, replacement, status }) {
  const shown = replacement.replace(/\s+/g, ' ').slice(0, 120);
  return `         ${status} ${location.start.line + 1}:${location.start.column + 1} ${mutatorName} -> ${shown}`;
}

/** Prints the score of each file and what survived there; true when each is high enough. */
function told(results) {
  let enough = true;
  for (const file of new Set(results.map(({ fileName }) => fileName))) {
    const own = results.filter((mutant) => mutant.fileName === file && counted.has(mutant.status));
    const killed = own.filter(({ status }) => noticed.has(status)).length;
    const score = own.length === 0 ? 100 : (100 * killed) / own.length;
    const late = own.filter(({ status }) => status === 'Timeout').length;
    const inTime = late === 0 ? '' : ` (${late} by time-out)`;
    print(`${score.toFixed(1).padStart(5)} %  ${killed} of ${own.length}${inTime}  ${relative(process.cwd(), file)}`);
    for (const mutant of own.filter(({ status }) => !noticed.has(status))) print(describe(mutant));
    enough &&= score >= lowestScore;
  }
  return enough;
}

const started = Date.now();
await globalSetup();
try {
  const results = [];
  let enough = true;
  for (const group of chosen) {
    const found = await mutants(group);
    enough = told(found) && enough;
    results.push(...found.filter(({ status }) => counted.has(status)));
  }
  const killed = results.filter(({ status }) => noticed.has(status)).length;
  const seconds = Math.round((Date.now() - started) / 1_000);
  print(`${killed} of ${results.length} killed, ${((100 * killed) / results.length).toFixed(1)} %, in ${seconds} s`);
  process.exitCode = enough ? 0 : 1;
} finally {
  await globalTeardown();
}
