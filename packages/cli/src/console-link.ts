import { newLoginCode } from '../../../src/auth/login-code.ts';

/**
 * A link that logs in to the console as ROOT_TOKEN, once and within five minutes. The code is in the fragment, which
 * a browser leaves out of requests.
 */
export async function consoleLink(url: URL, rootToken: string): Promise<string> {
  const link = new URL('/console', url);
  link.hash = `code=${await newLoginCode(rootToken, Date.now())}`;
  return link.href;
}
