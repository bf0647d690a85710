import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Compiles fixtures/contracts/Contracts.sol. Started by hand it writes the artifact that the tests deploy:
//   node test/support/compileContracts.mjs
const folder = new URL('../../fixtures/contracts/', import.meta.url);

/** The bytecode and the selectors of each contract, as the artifact has them. */
export function compile() {
  const solc = createRequire(import.meta.url)('solc');
  const source = readFileSync(new URL('Contracts.sol', folder), 'utf8');
  const input = {
    language: 'Solidity',
    sources: { 'Contracts.sol': { content: source } },
    settings: {
      evmVersion: 'paris',
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.methodIdentifiers'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error');
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contracts = Object.entries(output.contracts['Contracts.sol']).map(([name, { evm }]) => [
    name,
    { bytecode: `0x${evm.bytecode.object}`, selectors: evm.methodIdentifiers },
  ]);
  return { compiler: solc.version(), contracts: Object.fromEntries(contracts) };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  writeFileSync(new URL('Contracts.json', folder), `${JSON.stringify(compile(), null, 2)}\n`);
}
