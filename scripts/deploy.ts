import { Command } from '@commander-js/extra-typings';
import { readCommandLine, runCommand } from '@licet/cli/command-line';
import { command as doctor } from '@licet/cli/doctor';
import { CliError, fail, guardOutput, onStopSignal, run, runShown } from '@licet/cli/terminal';
import { type Deployed, deploy } from './deployment.ts';

/** `npm run deploy`: deploys the service to a Cloudflare account, or upgrades it. */

const program = new Command('npm run deploy --')
  .description('Deploys Licet to your Cloudflare account, or upgrades it there. Safe to run again.')
  .option('--dry-run', 'print the steps and change nothing; needs no login')
  .addHelpText(
    'after',
    `
Log in first: npx wrangler login. The command creates the database and the KV namespace of wrangler.toml
that the account lacks, applies the migrations, deploys with a root token, and runs the doctor. See
docs/deploy.md.

Exit status: 0 deployed and healthy, 1 failed, 2 wrong arguments.`,
  );

const READY_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 5_000;
const INTERVAL_MS = 1_000;

const isHealthy = (address: string): Promise<boolean> =>
  fetch(`${address}/api/v2/healthy`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) }).then(
    (response) => response.ok,
    () => false,
  );

/** Runs the doctor once the service responds. A new name takes a while to resolve. */
async function examine(address: string): Promise<boolean> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await isHealthy(address)) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
  return (await runCommand(doctor, [address])) === 0;
}

function welcome({ addresses, tokenFile, keysFile }: Deployed): void {
  const [address = 'https://ADDRESS'] = addresses;
  const where = addresses.join(' and ') || 'no address: see docs/deploy.md';
  console.log(`\n  Licet runs on ${where}\n\n  Console      ${address}/console`);
  if (keysFile !== undefined) {
    console.log(`  Signing keys in ${keysFile}. Put it into a password manager and delete the file: Cloudflare shows no
               secret again, and programs that have a lost key built in refuse. See docs/signing.md`);
  }
  if (tokenFile === undefined) return;
  console.log(`  Root token   in ${tokenFile}, as ROOT_TOKEN, with all permissions. Put it into a password
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
onStopSignal(() => `Stopped.${dryRun ? '' : ' Run npm run deploy again to finish.'}`);
try {
  const deployed = await deploy('.', tools, dryRun);
  if (deployed) welcome(deployed);
  if (deployed?.isWell === false) {
    fail(
      'The service is deployed, but some programs could not use it; see above what to change. Then run ' +
        'npm run doctor -- URL. A new domain takes a few minutes.',
    );
  }
} catch (error) {
  if (error instanceof CliError) fail(error.message, error.status);
  throw error;
}
