import { useEffect, useRef, useState } from 'react';
import { screenTexts } from '../../screen-texts.ts';

/**
 * Puts a mail into the document of a frame. The policy of the console allows no style in markup, also in frames; it
 * allows those that a script sets.
 */
function show(html: string, page: Document): HTMLElement {
  const inert = html.replaceAll(' style="', ' data-style="');
  const root = new DOMParser().parseFromString(inert, 'text/html').documentElement;
  for (const element of root.querySelectorAll<HTMLElement>('[data-style]')) {
    element.style.cssText = element.dataset.style ?? '';
  }
  page.documentElement.replaceWith(root);
  return root;
}

/**
 * A mail as a page, as high as its content. The frame runs no script, sends no form and loads nothing; nobody can press
 * its links.
 */
export function MailFrame({ html }: { html: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const { current } = frame;
    const page = current?.contentDocument;
    if (!isReady || !current || !page) return;
    const root = show(html, page);
    const fit = new ResizeObserver(() => {
      current.style.height = `${root.offsetHeight}px`;
    });
    fit.observe(root);
    return () => fit.disconnect();
  }, [html, isReady]);
  return (
    <div className="overflow-hidden rounded-lg border border-line">
      <iframe
        ref={frame}
        title={screenTexts.mail.preview}
        // Without `allow-scripts`: the page around it fills the frame, and nothing runs in it.
        sandbox="allow-same-origin"
        inert
        srcDoc="<!doctype html>"
        onLoad={() => setReady(true)}
        className="block w-full"
      />
    </div>
  );
}
