import { join } from 'node:path';
import { Command } from '@commander-js/extra-typings';
import { readCommandLine } from '../packages/cli/src/command-line.ts';
import {
  CliError,
  fail,
  guardOutput,
  onStopSignal,
  run,
  runShown,
} from '../packages/cli/src/terminal.ts';
import { type Deployed, deploy } from './deployment.ts';

/** `npm run deploy`: brings the service into a Cloudflare account, or up to date there. */

const program = new Command('npm run deploy --')
  .description(
    'Deploys Licet to your Cloudflare account, or brings it up to date there. Safe to run again.',
  )
  .option('--dry-run', 'prints what would be done, and does nothing')
  .addHelpText(
    'after',
    `
Log in first: npx wrangler login. It makes the database, the KV namespace and the queues that
wrangler.toml names and the account lacks, applies the migrations, deploys with a root token, and runs
the doctor. See docs/deploy.md.

Exit status: 0 done and well, 1 failed or not well, 2 called wrongly.`,
  );

const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 5_000;
const INTERVAL_MS = 1_000;

const answers = (address: string): Promise<boolean> =>
  fetch(`${address}/api/v2/healthy`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }).then(
    (answer) => answer.ok,
    () => false,
  );

/** Runs the doctor, once the service answers: a new name takes a while to be known. */
async function examine(address: string): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await answers(address)) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
  return runShown(process.execPath, [
    join(import.meta.dirname, '../packages/cli/src/doctor.ts'),
    address,
  ]);
}

function welcome({ addresses, tokenFile }: Deployed): void {
  const [address = 'https://ADDRESS'] = addresses;
  const where = addresses.join(' and ') || 'no address: see docs/deploy.md';
  console.log(`\n  Licet runs on ${where}\n`);
  if (tokenFile === undefined) return;
  console.log(`  Root token   in ${tokenFile}, as ROOT_TOKEN: it may do everything. Put it into a password
               manager and delete the file
  Try          curl ${address}/api/v2/products -H "TOKEN: $(sed -n 's/^ROOT_TOKEN=//p' ${tokenFile})"
`);
}

guardOutput('go on');
await readCommandLine(program);
const { dryRun = false } = program.opts();
const tools = {
  wrangler: (args: readonly string[], variables?: NodeJS.ProcessEnv) =>
    run('wrangler', args, variables),
  wranglerShown: (args: readonly string[], variables: NodeJS.ProcessEnv) =>
    runShown('wrangler', args, variables),
  examine,
};
onStopSignal(() => `Stopped.${dryRun ? '' : ' Run it again: it does the rest.'}`);
try {
  const deployed = await deploy('.', tools, dryRun);
  if (deployed) welcome(deployed);
  if (deployed?.isWell === false) {
    fail(
      'It is deployed, but some programs would not get in: see above what to change, and look again ' +
        'with npm run doctor -- URL. A domain that is new takes a few minutes.',
    );
  }
} catch (error) {
  if (error instanceof CliError) fail(error.message, error.status);
  throw error;
}
