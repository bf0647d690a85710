import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';

// The arrows of the design: cli → commands → batch → stages → db → kernel. A stage takes from another stage types and
// pure functions only; the reconciliation takes nothing from a stage, since a check that shares code shares its bugs.

const root = process.cwd();
const stages = [
  'orders',
  'sharding',
  'terms',
  'netting',
  'settlement',
  'outbox',
  'ledger',
  'reports',
  'payouts',
  'deposits',
  'statements',
  'discrepancies',
  'notifications',
];

interface Import {
  /** File that imports, from the root: "src/orders/queries.ts". */
  from: string;
  /** File that is imported, likewise, or the name of a package. */
  to: string;
  typeOnly: boolean;
  lazy: boolean;
}

function filesBelow(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(join(root, path)).isFile());
}

function importsOf(file: string): Import[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.ES2022, true);
  const found: Import[] = [];
  const add = (specifier: string, typeOnly: boolean, lazy: boolean): void => {
    const to = specifier.startsWith('.')
      ? relative(root, resolve(root, dirname(file), specifier)).replace(/\.js$/, '.ts')
      : specifier;
    found.push({ from: file, to, typeOnly, lazy });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
      const clause = node.importClause;
      const named = clause?.namedBindings;
      const allTypes =
        clause?.phaseModifier === ts.SyntaxKind.TypeKeyword ||
        (clause !== undefined &&
          clause.name === undefined &&
          named !== undefined &&
          ts.isNamedImports(named) &&
          named.elements.length > 0 &&
          named.elements.every((element) => element.isTypeOnly));
      add(node.moduleSpecifier.text, allTypes, false);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
      add(node.moduleSpecifier.text, node.isTypeOnly, false);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteral(argument)) add(argument.text, false, true);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const sources = filesBelow('src').filter((file) => file.endsWith('.ts'));
const imports = [...sources, ...filesBelow('migrations')].flatMap(importsOf);
const ours = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('migrations/'));
const layerOf = (file: string): string => file.split('/')[file.startsWith('src/') ? 1 : 0] ?? '';
const arrows = (offending: readonly Import[]): string[] => offending.map(({ from, to }) => `${from} → ${to}`);

// Called inside the transaction of the stage that moves something: every message is written by one function, every journal
// entry that no run posts by another, and every statement on the order table, which companies will map onto tables of
// their own, is in one file.
const shared = [
  ...['src/outbox/append.ts', 'src/orders/queries.ts', 'src/ledger/bookEntries.ts', 'src/discrepancies/record.ts'],
  // What a statement says of orders and payouts, which it finds and moves inside the transaction that matches them.
  ...['src/orders/statedOrders.ts', 'src/payouts/statedOutcomes.ts', 'src/payouts/queries.ts'],
];

// A report tells of all stages, so it reads what each of them offers to be looked at; those files change nothing.
const isView = (file: string): boolean => /(\/views|Views|\/reportQueries)\.ts$/.test(file);

/** Touches no database, itself or through what it imports: a function of its arguments. */
function isPure(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return true;
  seen.add(file);
  return ours
    .filter(({ from, typeOnly }) => from === file && !typeOnly)
    .every(({ to }) => layerOf(to) !== 'db' && isPure(to, seen));
}

test('the parser of imports sees the different kinds', () => {
  const cli = importsOf('src/cli.ts');
  expect(cli).toContainEqual({ from: 'src/cli.ts', to: 'commander', typeOnly: false, lazy: false });
  expect(cli).toContainEqual({ from: 'src/cli.ts', to: 'src/commands/context.ts', typeOnly: true, lazy: false });
  expect(cli).toContainEqual({ from: 'src/cli.ts', to: 'src/config.ts', typeOnly: false, lazy: true });
  expect(sources.length).toBeGreaterThan(20);
});

describe('imports', () => {
  test('lead to files that exist', () => {
    expect(arrows(ours.filter(({ to }) => !existsSync(join(root, to))))).toEqual([]);
  });

  // What each layer may take from, itself apart.
  const allowed: Record<string, readonly string[]> = {
    kernel: [],
    migrations: [],
    db: ['kernel', 'migrations'],
    'configValues.ts': [],
    'configCalendar.ts': ['kernel', 'configValues.ts', 'configPayouts.ts'],
    'configPayouts.ts': ['kernel', 'configValues.ts'],
    'configStatements.ts': ['kernel', 'configValues.ts'],
    'configReconciliation.ts': ['kernel', 'configValues.ts', 'configPayouts.ts', 'configStatements.ts'],
    'configSource.ts': ['kernel', 'configValues.ts'],
    'configSinks.ts': ['kernel', 'configValues.ts', 'configPayouts.ts'],
    'configDeposits.ts': ['kernel', 'configValues.ts', 'configPayouts.ts'],
    'configNotifications.ts': ['kernel', 'configValues.ts', 'configPayouts.ts'],
    'config.ts': [
      'kernel',
      'db',
      'configValues.ts',
      'configCalendar.ts',
      'configPayouts.ts',
      'configSinks.ts',
      'configDeposits.ts',
      'configSource.ts',
      'configStatements.ts',
      'configReconciliation.ts',
      'configNotifications.ts',
    ],
    'configShow.ts': ['kernel', 'config.ts'],
    reconciliation: ['kernel', 'db'],
    doctor: ['kernel', 'db'],
    telemetry: ['batch'],
    batch: ['kernel', 'db', 'config.ts', 'reconciliation', ...stages],
    commands: [
      'kernel',
      'db',
      'config.ts',
      'configShow.ts',
      'configValues.ts',
      'configPayouts.ts',
      'configSinks.ts',
      'configDeposits.ts',
      'configSource.ts',
      'configReconciliation.ts',
      'configNotifications.ts',
      'migrations',
      'reconciliation',
      'doctor',
      'telemetry',
      'batch',
      ...stages,
    ],
    'commandLineLedger.ts': ['commands'],
    'commandLinePayouts.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineOperators.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineOutbox.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineSource.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineDeposits.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineStatements.ts': ['commands', 'commandLineLedger.ts'],
    'commandLineViews.ts': ['commands', 'commandLineLedger.ts'],
    'commandLine.ts': [
      'kernel',
      'commands',
      'commandLineLedger.ts',
      'commandLineOperators.ts',
      'commandLineOutbox.ts',
      'commandLinePayouts.ts',
      'commandLineSource.ts',
      'commandLineDeposits.ts',
      'commandLineStatements.ts',
      'commandLineViews.ts',
    ],
    // What receivers of our messages use: it takes pure functions and the shapes of messages, and touches no database.
    consumer: ['kernel', 'outbox', 'payouts'],
    'cli.ts': ['kernel', 'commands', 'config.ts', 'commandLine.ts'],
  };

  test.each(Object.keys(allowed))('of %s point down only', (layer) => {
    const below = allowed[layer] ?? [];
    const offending = ours.filter(
      ({ from, to }) => layerOf(from) === layer && layerOf(to) !== layer && !below.includes(layerOf(to)),
    );
    expect(arrows(offending)).toEqual([]);
  });

  test('of a stage go to db and kernel, and to another stage for types and pure functions only', () => {
    const offending = ours.filter(({ from, to, typeOnly }) => {
      const [layer, target] = [layerOf(from), layerOf(to)];
      if (!stages.includes(layer) || target === layer || target === 'db' || target === 'kernel') return false;
      if (!stages.includes(target)) return true;
      return !typeOnly && !shared.includes(to) && !isPure(to) && !(layer === 'reports' && isView(to));
    });
    expect(arrows(offending)).toEqual([]);
  });

  test('every folder of src has a place in the order', () => {
    const known = [...Object.keys(allowed), ...stages];
    const strange = new Set(sources.map(layerOf).filter((layer) => !known.includes(layer)));
    expect([...strange]).toEqual([]);
  });

  test('of the command line load nothing heavy before a command runs', () => {
    const start = ['src/cli.ts', 'src/commandLine.ts'];
    const loaded = new Set<string>();
    const load = (file: string): void => {
      for (const { to, typeOnly, lazy } of imports.filter(({ from }) => from === file)) {
        if (typeOnly || lazy || loaded.has(to)) continue;
        loaded.add(to);
        load(to);
      }
    };
    start.forEach(load);
    const packages = [...loaded].filter((name) => !name.startsWith('src/') && !name.startsWith('node:'));
    expect(packages).toEqual(['commander']);
    expect([...loaded].filter((name) => /^src\/(db|config|commands)/.test(name))).toEqual([]);
  });

  test('of packages that only some runs need come when they are needed', () => {
    const rare = /^(@opentelemetry\/|nodemailer$|prom-client$)/;
    const places = new Set(
      imports.filter(({ to, typeOnly, lazy }) => rare.test(to) && !typeOnly && !lazy).map(({ from }) => from),
    );
    expect([...places].sort()).toEqual([
      'src/notifications/email.ts',
      'src/reports/metricsText.ts',
      'src/telemetry/tracing.ts',
    ]);
    const eager = imports.filter(({ to, typeOnly, lazy }) => places.has(to) && !typeOnly && !lazy);
    expect(arrows(eager)).toEqual(['src/commands/metrics.ts → src/reports/metricsText.ts']);
  });

  test('that go round in a circle do not exist', () => {
    const circles: string[] = [];
    const state = new Map<string, 'open' | 'done'>();
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      if (state.get(file) === 'open') {
        circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
        return;
      }
      state.set(file, 'open');
      for (const { to, typeOnly } of ours.filter(({ from }) => from === file)) {
        if (!typeOnly) visit(to, [...path, file]);
      }
      state.set(file, 'done');
    };
    for (const file of sources) visit(file, []);
    expect(circles).toEqual([]);
  });
});

describe('the sources', () => {
  const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

  test('name the order table in one place, its mapping; the independent check tells of it by that name', () => {
    const elsewhere = sources.filter(
      (file) =>
        /settlement_order/i.test(textOf(file)) && !/^src\/(kernel\/orderSource\.ts|reconciliation\/)/.test(file),
    );
    expect(elsewhere).toEqual([]);
  });

  test('are files that one can read: 400 lines at most', () => {
    const long = sources
      .map((file) => ({ file, lines: textOf(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });

  test('use only SQL that every engine has', () => {
    const own =
      /\b(returning\s+\w|skip locked|on duplicate key|insert\s+ignore|full\s+(outer\s+)?join|get_lock|\boffset\s+\?)/i;
    const offending = sources.filter((file) => own.test(textOf(file).replaceAll(/\/\/.*|\/\*[^]*?\*\//g, '')));
    expect(offending).toEqual([]);
  });

  test('nothing that is shipped or tested names a folder of somebody’s machine', () => {
    const files = ['src', 'migrations', 'test', 'bin', '.ci', 'fixtures'].flatMap(filesBelow);
    files.push(...readdirSync(root).filter((name) => /\.(js|json|md)$/.test(name) && name !== 'package-lock.json'));
    const machine = new RegExp(['/work' + '/', '/home' + '/[a-z]', '/Users' + '/', '/root' + '/'].join('|'));
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter((file) => machine.test(textOf(file)))).toEqual([]);
  });
});
