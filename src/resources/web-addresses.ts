import { isWebAddress, WEB_ADDRESS_MESSAGE } from '@licet/contract/fields';
import { DomainError } from '../lib/errors.ts';

/**
 * Checks the changed addresses of a PUT.
 *
 * @throws DomainError for one that is neither stored nor an http or https address
 */
export function checkWebAddresses<Name extends string>(
  names: readonly Name[],
  changes: { readonly [N in Name]?: string | null | undefined },
  stored: { readonly [N in Name]: string | null },
): void {
  const wrong = names.filter((name) => {
    const value = changes[name] ?? '';
    return value !== stored[name] && !isWebAddress(value);
  });
  if (wrong.length === 0) return;
  throw new DomainError(
    'invalid',
    wrong.map((name) => `${name} ${WEB_ADDRESS_MESSAGE}`).join('; '),
    wrong.length === 1 ? wrong[0] : undefined,
  );
}
