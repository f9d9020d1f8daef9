import { ensureRootToken, SECRETS_FILE } from '@licet/cli/root-token';
import { CliError, fail, guardOutput, note } from '@licet/cli/terminal';
import { lockState } from '../state-lock.ts';
import { checkMail, checkVariables } from '../variables.ts';
import { findIgnored, readWorkerOptions } from './build.ts';
import { endLeftover } from './leftover.ts';
import { checkPorts, type LocalOptions } from './options.ts';

/**
 * Prepares a start: checks the variables, locks the data folder for this process, ends the runtime that a killed service left behind, checks
 * the ports, and makes a root token unless one is given.
 *
 * @throws CliError if a variable is wrong, or the folder or a port is in use
 */
export async function prepare(options: LocalOptions, isTokenGiven: boolean): Promise<void> {
  const { command, folder } = options;
  for (const ignored of findIgnored(options.variables, command)) note(`• ${ignored}.`);
  // ensureRootToken() makes the token, or checks it.
  const { ROOT_TOKEN: _, ...variables } = readWorkerOptions().variables;
  checkVariables(variables);
  checkMail({ ...variables, ...options.variables });
  if (!lockState(folder)) {
    throw new CliError(
      `The data in ${folder} is in use by another Licet. ` +
        `Stop it, or start with another folder: ${command} -- --persist-to DIR`,
    );
  }
  await endLeftover(folder);
  await checkPorts(options);
  if (!isTokenGiven && ensureRootToken()) note(`✓ A root token was made, in ${SECRETS_FILE}`);
}

/** Runs a command, and ends it with the message of an error. */
export async function runLocally(command: () => Promise<void>): Promise<void> {
  guardOutput('go on');
  await command().catch((error) =>
    fail(
      error instanceof Error ? error.message : String(error),
      error instanceof CliError ? error.status : 1,
    ),
  );
}
