import { Hono } from 'hono';
import { INTENTS } from '../../auth/intents';
import { type AuthEnv, requireIntents } from '../../auth/middleware';
import { validateLicense } from '../validate';

/** With a good token the same as v1's endpoint [4.6]. */
export const validateRoute = new Hono<AuthEnv>().post(
  '/',
  requireIntents(INTENTS.validate),
  validateLicense('V2_VALIDATE'),
);
