/** The theme of the page: as the system's, unless the viewer has chosen one. */

const STORED = 'licet.theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const readTheme = (): Theme =>
  THEMES.find((theme) => theme === localStorage.getItem(STORED)) ?? 'system';

/** Shows the page in the stored theme. */
export function showTheme(): void {
  document.documentElement.dataset.theme = readTheme();
}

export function storeTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  showTheme();
}
