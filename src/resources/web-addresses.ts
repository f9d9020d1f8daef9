import { isWebAddress, WEB_ADDRESS_MESSAGE } from '@licet/contract/fields';
import type { Fields } from '@licet/contract/resource';
import { DomainError } from '../lib/errors.ts';

/**
 * Checks the changed addresses of a PUT.
 *
 * @throws DomainError for one that is neither stored nor an http or https address
 */
export function checkWebAddresses(
  fields: Fields,
  changes: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): void {
  const wrong = Object.keys(fields).filter((name) => {
    const value = changes[name];
    if (!fields[name]?.isWebAddress || typeof value !== 'string') return false;
    return value !== stored[name] && !isWebAddress(value);
  });
  if (wrong.length === 0) return;
  throw new DomainError(
    'invalid',
    wrong.map((name) => `${name} ${WEB_ADDRESS_MESSAGE}`).join('; '),
    wrong.length === 1 ? wrong[0] : undefined,
  );
}
