import type {
  DiscordCode,
  LinkFault,
  PortalData,
  PortalMachine,
  ResetOutcome,
  RotationOutcome,
  Seller,
} from '@licet/contract/portal-page';

/** The requests of the customer's page. */

/** The service did not do it: the status, or 0 without a response. */
export class Failure extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The service returned ${status}`);
    this.status = status;
  }
}

async function send(method: string, path: string, body?: object): Promise<Response> {
  const response = await fetch(`/my${path}`, {
    method,
    headers: { 'Content-Type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Failure(0);
  });
  if (!response.ok) throw new Failure(response.status);
  return response;
}

async function read<Result>(method: string, path: string, body?: object): Promise<Result> {
  return (await send(method, path, body)).json();
}

export const readSeller = (): Promise<Seller> => read('GET', '/seller');
export const readLicenses = (): Promise<PortalData> => read('GET', '/licenses');
export const readMachines = (id: number): Promise<PortalMachine[]> =>
  read('GET', `/licenses/${id}/machines`);
export const readKey = async (id: number): Promise<string> =>
  (await read<{ licenseKey: string }>('POST', `/licenses/${id}/key`, {})).licenseKey;

/** Frees the slots of a machine; all of them without one. */
export const reset = (id: number, machine: string | null): Promise<ResetOutcome> =>
  read('POST', `/licenses/${id}/resets`, { machine });

/** Gives a license a new key. */
export const replaceKey = (id: number): Promise<RotationOutcome> =>
  read('POST', `/licenses/${id}/rotations`, {});

/** A new code, in the place of an earlier one. */
export const makeDiscordCode = (): Promise<DiscordCode> => read('POST', '/discord-code', {});

/** Asks for a link by e-mail. The response does not tell whether the e-mail is known. */
export async function askForLink(email: string, language: string): Promise<void> {
  await send('POST', '/link', { email, language });
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/session');
}

/** Opens a session with the code of a link. @returns why it opens none */
export async function redeem(code: string): Promise<LinkFault | undefined> {
  const response = await fetch('/my/session', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    // Mails to the customer are in this language from now on.
    body: JSON.stringify({ code, language: document.documentElement.lang }),
  }).catch(() => {
    throw new Failure(0);
  });
  if (response.status === 403) {
    const { fault = 'unknown' }: { fault?: LinkFault } = await response.json();
    return fault;
  }
  // No link is that long.
  if (response.status === 400) return 'unknown';
  if (!response.ok) throw new Failure(response.status);
  return undefined;
}
