import { parseDatabaseUrl } from '../../src/db/url.js';
import { SettleError } from '../../src/kernel/errors.js';
import { contest, type Say } from './contest.js';
import { help, readOptions, type Measure } from './options.js';
import { givenPlace, privateFilePlace, privateServerPlace, type Place } from './place.js';
import { BenchRefused } from './refused.js';
import { contestReport, scaleReport } from './report.js';
import { assertCanSave, machine, madeBy, save, showInReadme } from './save.js';
import { scale } from './scale.js';

const say: Say = (text) => {
  process.stderr.write(`${text}\n`);
};

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.measure === 'contest' || options.measure === 'scale') return measure(options, args);
  if (options.measure === 'help') process.stdout.write(help);
  else showInReadme();
  return 0;
}

async function measure(options: Measure, args: readonly string[]): Promise<number> {
  const { database } = options;
  const named = database === undefined ? null : { url: database, label: parseDatabaseUrl(database).label };
  if (options.save) assertCanSave();
  const found = machine();
  const made = options.save ? { ...madeBy(args, named), machine: found } : null;

  const report =
    options.measure === 'contest'
      ? contestReport(options.contest, await onEachPlace(options, (place) => contest(place, options.contest, say)))
      : scaleReport(options.scale, await onEachPlace(options, (place) => scale(place, options.scale, say)));

  const document = { schema: 'settle.bench', schemaVersion: 2, machine: found, ...report.document };
  process.stdout.write(options.json ? `${JSON.stringify(document, null, 2)}\n` : report.text);
  const same = report.differences.length === 0;
  if (made !== null && same) save(report.saved, made);
  if (made !== null && !same) say('Not saved: the books differ.');
  return same ? 0 : 4;
}

/** Opens the places one after the other, and leaves nothing of them behind. */
async function onEachPlace<T>({ database, engine }: Measure, work: (place: Place) => Promise<T>): Promise<T[]> {
  const opens: (() => Place | Promise<Place>)[] =
    database === undefined
      ? [...(engine === 'sqlite' ? [] : [privateServerPlace]), ...(engine === 'server' ? [] : [privateFilePlace])]
      : [() => givenPlace(database)];
  const results: T[] = [];
  for (const open of opens) {
    const place = await open();
    const stop = (): void => {
      void place.remove().finally(() => process.exit(130));
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);
    try {
      results.push(await work(place));
    } finally {
      process.off('SIGINT', stop).off('SIGTERM', stop);
      await place.remove();
    }
  }
  return results;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const code = (error as { code?: string }).code ?? '';
  const usage = error instanceof BenchRefused || error instanceof SettleError || code.startsWith('ERR_PARSE_ARGS');
  process.stderr.write(`${usage ? (error as Error).message : String((error as Error).stack)}\n`);
  process.exitCode = usage ? 2 : 1;
}
