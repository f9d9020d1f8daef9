import { parseBoolean } from './boolean-setting.ts';

/**
 * The value of LOG_REQUESTS: whether each request is logged, or `failures` for all but most valid validations. Undefined
 * for another value, which `npm start` and `npm run deploy` reject.
 */
export const parseLogSetting = (value: unknown): boolean | 'failures' | undefined =>
  String(value).toLowerCase() === 'failures' ? 'failures' : parseBoolean(value);
