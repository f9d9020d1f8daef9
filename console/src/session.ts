import { INTENTS } from '@licet/contract/intents';
import { useQuery } from '@tanstack/react-query';
import { SESSION_QUERY, type Session } from './api.ts';
import { texts } from './texts.ts';

/** A kind of action for which the service requires an intent. */
export type Right = keyof typeof INTENTS;

/** The session of the page. Only for screens, which are never shown without a session. */
export function useSession(): Session {
  const { data } = useQuery(SESSION_QUERY);
  return data ?? { id: null, name: '', intents: [], expiresAt: null };
}

/** Whether the session's token may do something. */
export function useMay(right: Right): boolean {
  const { intents } = useSession();
  const accepted: readonly string[] = INTENTS[right];
  return intents.some((intent) => accepted.includes(intent));
}

/** The reason why the session's token may not do something; undefined if it may. */
export function useRefusal(right: Right): string | undefined {
  return useMay(right) ? undefined : texts.errors.forbidden(INTENTS[right]);
}
