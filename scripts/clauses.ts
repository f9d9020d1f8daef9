import { writeFileSync } from 'node:fs';
import { done } from '@licet/cli/terminal';
import { CLAUSES_FILE, readClauses } from '../test/docs/clauses.ts';

/** `npm run clauses`: writes the table from each clause to its tests. */

writeFileSync(CLAUSES_FILE, readClauses().table);
done(`${CLAUSES_FILE} is written`);
