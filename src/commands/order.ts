import { instantText } from '../kernel/clock.js';
import { exitCodes } from '../kernel/errors.js';
import { printable } from '../kernel/printable.js';
import { cancelOrders } from '../orders/cancelOrders.js';
import { plural } from '../reports/words.js';
import { withDatabase, type Command } from './context.js';

/** `settle order cancel ORDER_NO…`: INIT orders that shall not be settled, all of them or none; recorded. */
export const cancel: Command<{ orderNos: string[]; by: string; reason: string }> = (context, options) =>
  withDatabase(context, async (database) => {
    const decision = { by: options.by, reason: options.reason, at: instantText(context.clock.now()) };
    const { cancelled, already } = await cancelOrders(database, options.orderNos, decision);
    if (context.output !== 'text') await context.document({ schema: 'settle.orderCancel', cancelled, already });
    else {
      if (cancelled.length > 0) {
        await context.print(printable(`Cancelled ${plural(cancelled.length, 'order')}: ${cancelled.join(', ')}.`));
      }
      if (already.length > 0) await context.print(printable(`Cancelled before: ${already.join(', ')}.`));
    }
    return exitCodes.OK;
  });
