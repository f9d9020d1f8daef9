import { writeFileSync } from 'node:fs';
import { done } from '@licet/cli/terminal';
import { clientTypes } from './client-types.ts';

/** `npm run openapi`: writes the OpenAPI document of the routes, and the client's types. */

const FILE = 'docs/openapi.json';
const TYPES_FILE = 'packages/client/src/types.ts';

// The routes have the types of the Worker, which those of Node would contradict here.
const { openApiDocument } = await import(new URL('../openapi/document.ts', import.meta.url).href);
const json = JSON.stringify(openApiDocument(), null, 2);
writeFileSync(FILE, `${json}\n`);
// Parsed again, because JSON drops undefined values.
writeFileSync(TYPES_FILE, clientTypes(JSON.parse(json)));
done(`${FILE} and ${TYPES_FILE} are written`);
