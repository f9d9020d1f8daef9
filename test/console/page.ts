import { vi } from 'vitest';
import { respond } from './service.ts';

/** The parts of a browser that the logic of the console finds: the address of the page, and the network. */

vi.stubGlobal('location', new URL('https://licet.test/console'));
vi.stubGlobal('fetch', respond);
