import { createTransport } from 'nodemailer';
import { noticeText, noticeTitle, type Notice } from './notice.js';
import { NotDelivered, type Sender } from './sender.js';

export interface EmailOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: 'always' | 'starttls' | 'none';
  readonly ca: string | null;
  /** Null: the server takes mail without a password. */
  readonly login: { readonly user: string; readonly pass: string } | null;
  readonly from: string;
  readonly to: readonly string[];
}

/** Plain text over SMTP. Sent once, and not tried again in the same run: a server may have taken what it never confirmed. */
export class EmailSender implements Sender {
  constructor(
    readonly name: string,
    private readonly options: EmailOptions,
  ) {}

  async send(notice: Notice, within: AbortSignal): Promise<void> {
    const { host, port, tls, ca, login, from, to } = this.options;
    const transport = createTransport({
      host,
      port,
      secure: tls === 'always',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'none',
      ...(login === null ? {} : { auth: login }),
      tls: { minVersion: 'TLSv1.2', ...(ca === null ? {} : { ca }) },
      // What is sent is made here; nothing may be fetched for it from a file or a URL.
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    try {
      await transport.sendMail({
        from,
        to: [...to],
        subject: noticeTitle(notice),
        text: `${noticeText(notice)}\n`,
        // The same for the same change, so that mail programs show it once.
        messageId: `<${notice.id}@${from.split('@')[1] ?? 'settle'}>`,
        headers: { 'auto-submitted': 'auto-generated' },
        signal: within,
      });
    } catch (error) {
      throw new NotDelivered(within.aborted ? 'no answer in time' : `the mail was not taken (${reasonOf(error)})`);
    } finally {
      transport.close();
    }
  }
}

/** Codes only: what a mail server says may repeat addresses. */
function reasonOf(error: unknown): string {
  const { code, responseCode } = error as { code?: string; responseCode?: number };
  const parts = [code, responseCode === undefined ? undefined : `SMTP ${String(responseCode)}`];
  return parts.filter((part) => part !== undefined).join(', ') || 'no reason given';
}
