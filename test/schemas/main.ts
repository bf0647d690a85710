import { mkdirSync, writeFileSync } from 'node:fs';
import { schemaFiles } from '../../src/outbox/events.js';

// npm run schemas: writes the JSON Schemas of all messages.
mkdirSync('docs/schemas', { recursive: true });
for (const [name, text] of schemaFiles()) writeFileSync(`docs/schemas/${name}`, text);
