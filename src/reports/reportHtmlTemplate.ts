// Templates of the HTML report. `<%= %>` escapes; nothing of the day's data may go through `<%~ %>`.

/** A captioned table that scrolls in its own box on a narrow screen. Data: see `HtmlTable`. */
export const tableTemplate = `
<div class="scroll" role="region" aria-label="<%= it.caption %>" tabindex="0">
<table<% if (it.groups) { %> class="grouped"<% } %>>
<caption><%= it.caption %></caption>
<thead>
<% if (it.groups) { %><tr><td></td><% it.groups.forEach((group) => { %><th scope="colgroup" colspan="<%= group.span %>"><%= group.title %></th><% }) %></tr>
<% } %><tr><% it.columns.forEach((column) => { %><th scope="col"<% if (column.align === 'right') { %> class="n"<% } %>><%= column.title %></th><% }) %></tr>
</thead>
<tbody>
<% it.rows.forEach((row) => { %><tr><% row.forEach((cell, at) => { const kind = it.columns[at].align === 'right' ? ' class="n"' : it.columns[at].wraps ? ' class="w"' : ''; %><% if (at === 0) { %><th scope="row"<%~ kind %>><%= cell %></th><% } else { %><td<%~ kind %>><%= cell %></td><% } %><% }) %></tr>
<% }) %></tbody>
</table>
</div>
<% if (it.note) { %><p class="note"><%= it.note %></p><% } %>`;

export const pageTemplate = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Settlement report <%= it.day %></title>
<style><%~ it.css %></style>
</head>
<body>
<main>
<header>
<p class="brand">Settlement report</p>
<h1><%= it.dayInWords %></h1>
<p class="sub">Batch day <%= it.day %> · cut-off <%= it.cutOff %></p>
</header>
<section class="verdict <%= it.verdict.grade %>" aria-label="Verdict">
<p class="badge"><%= it.status %></p>
<p class="headline"><%= it.verdict.headline %></p>
<% if (it.verdict.needs.length > 0) { %><ul><% it.verdict.needs.forEach((need) => { %><li><%= need %></li><% }) %></ul>
<% } %></section>
<dl class="figures">
<% it.figures.forEach((figure) => { %><div><dt><%= figure.title %></dt><dd><%= figure.value %></dd></div>
<% }) %></dl>
<% it.sections.forEach((section) => { %><section>
<h2><%= section.title %></h2>
<% if (section.text) { %><p class="lead"><%= section.text %></p>
<% } %><div<% if (section.sideBySide) { %> class="side"<% } %>><% section.tables.forEach((table) => { %><div><%~ include('@table', table) %></div><% }) %></div>
</section>
<% }) %><section>
<h2>Where this comes from</h2>
<dl class="provenance">
<% it.provenance.forEach((fact) => { %><div><dt><%= fact.title %></dt><dd><%= fact.value %></dd></div>
<% }) %></dl>
</section>
<footer><p>Drawn from the stored facts of the day; the same facts give the same file, byte for byte.</p></footer>
</main>
</body>
</html>
`;

export const css = `
:root{color-scheme:light dark;--paper:#fff;--desk:#f3f4f2;--ink:#1d2321;--soft:#5a6662;--line:#dfe3e0;--head:#f7f8f6;
--good:#1c6b48;--good-bg:#edf6f0;--attention:#8a5a00;--attention-bg:#fdf6e6;--bad:#a3261f;--bad-bg:#fcefee}
@media (prefers-color-scheme:dark){:root{--paper:#171b1a;--desk:#0f1211;--ink:#e6eae8;--soft:#9aa6a1;--line:#2c3331;--head:#1d2221;
--good:#7fd1a5;--good-bg:#15261e;--attention:#e9bd62;--attention-bg:#2a2313;--bad:#f29a93;--bad-bg:#2e1816}}
*{box-sizing:border-box}
body{margin:0;background:var(--desk);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:62rem;margin:2rem auto;padding:2.5rem 3rem;background:var(--paper);border:1px solid var(--line);border-radius:6px}
header{border-bottom:2px solid var(--ink);padding-bottom:1rem;margin-bottom:1.5rem}
.brand{margin:0;font-size:.8rem;letter-spacing:.09em;text-transform:uppercase;color:var(--soft)}
h1{margin:.1rem 0 .2rem;font-size:2rem;line-height:1.2;font-weight:600;letter-spacing:-.01em}
.sub{margin:0;color:var(--soft)}
h2{margin:2.5rem 0 .4rem;font-size:1.1rem;font-weight:600}
.lead{margin:.1rem 0 .8rem;color:var(--soft);max-width:46rem}
.verdict{border-left:4px solid var(--c);background:var(--b);padding:.9rem 1.2rem;border-radius:0 4px 4px 0}
.good{--c:var(--good);--b:var(--good-bg)}.attention{--c:var(--attention);--b:var(--attention-bg)}.bad{--c:var(--bad);--b:var(--bad-bg)}
.badge{margin:0;font-size:.8rem;font-weight:600;letter-spacing:.06em;text-transform:uppercase;color:var(--c)}
.headline{margin:.1rem 0;font-size:1.15rem;font-weight:600}
.verdict ul{margin:.5rem 0 0;padding-left:1.2rem}
.figures{display:flex;flex-wrap:wrap;gap:1px;margin:1.5rem 0 0;background:var(--line);border:1px solid var(--line);border-radius:4px;overflow:hidden}
.figures div{flex:1 1 11rem;background:var(--paper);padding:.7rem 1rem}
dt{color:var(--soft);font-size:.82rem}
dd{margin:0;overflow-wrap:anywhere}
.figures dd{font-size:1.2rem;font-weight:600;font-variant-numeric:tabular-nums;white-space:nowrap}
.scroll{overflow-x:auto;margin:.8rem 0 0}
.scroll:focus-visible{outline:2px solid var(--c,var(--soft));outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.92rem}
caption{text-align:left;color:var(--soft);font-size:.82rem;padding:0 0 .35rem}
th,td{padding:.42rem .75rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
thead th{background:var(--head);color:var(--soft);font-size:.8rem;font-weight:600;white-space:nowrap;border-bottom:1px solid var(--line)}
thead td{background:var(--head)}
tbody th{overflow-wrap:anywhere;min-width:8rem}
tbody td{white-space:nowrap}
tbody td.w{white-space:normal;min-width:14rem;overflow-wrap:break-word}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.grouped thead th[scope=colgroup]{text-align:right;color:var(--ink)}
.grouped td:nth-child(even),.grouped tr:last-child th:nth-child(even){padding-left:1.6rem}
.side{display:flex;flex-wrap:wrap;gap:0 2rem;align-items:flex-start}
.side>div{flex:1 1 auto;max-width:100%}
.side tbody th{min-width:5rem}
.side th,.side td{padding-left:.5rem;padding-right:.5rem}
tbody tr:last-child>*{border-bottom:2px solid var(--line)}
.note{margin:.4rem 0 0;color:var(--soft);font-size:.85rem}
.provenance{display:grid;grid-template-columns:repeat(auto-fit,minmax(14rem,1fr));gap:.7rem 1.5rem;margin:.6rem 0 0}
.provenance dd{font-variant-numeric:tabular-nums}
footer{margin-top:2.5rem;padding-top:.8rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem}
footer p{margin:0}
@media (max-width:40rem){main{margin:0;padding:1.25rem 1rem 2rem;border:0;border-radius:0}h1{font-size:1.55rem}th,td{padding:.4rem .5rem}.scroll{margin-right:-1rem;padding-right:1rem}}
@page{size:A4;margin:14mm}
@media print{:root{color-scheme:light;--paper:#fff;--desk:#fff;--ink:#000;--soft:#444;--line:#bbb;--head:#fff;--good:#000;--attention:#000;--bad:#000;--good-bg:#fff;--attention-bg:#fff;--bad-bg:#fff}
body{font-size:9.5pt}main{max-width:none;margin:0;padding:0;border:0}.scroll{overflow:visible}table{font-size:8.5pt}th,td{padding:.2rem .4rem}
thead{display:table-header-group}tr,.verdict,.figures{break-inside:avoid}h2{break-after:avoid;margin-top:1.4rem}}
`;
