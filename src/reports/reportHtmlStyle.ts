/** The whole style of the HTML report: light, dark, narrow, and on paper of any size. No address in it, and no colour alone. */
export const css = `
:root{color-scheme:light dark;--paper:#fff;--desk:#eef1f0;--ink:#16211f;--soft:#54625e;--line:#dbe1de;--rule:#b9c3bf;--head:#f5f7f6;--bar:#4c8192;--sum:#123c4a;--pale:#d9e6ea;
--good:#14613f;--good-bg:#e9f5ee;--attention:#7d5000;--attention-bg:#fcf3df;--bad:#9c1f18;--bad-bg:#fcecea}
@media (prefers-color-scheme:dark){:root{--paper:#151a1a;--desk:#0c1010;--ink:#e8eeec;--soft:#a3b0ac;--line:#2a3231;--rule:#46524f;--head:#1b2121;--bar:#5f9db0;--sum:#cfe4ea;--pale:#263a41;
--good:#7fd6a8;--good-bg:#12271d;--attention:#f0c163;--attention-bg:#2b2310;--bad:#f7a19a;--bad-bg:#321715}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;overflow-wrap:anywhere;background:var(--desk);color:var(--ink);font:15px/1.5 "Segoe UI",system-ui,-apple-system,Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif}
main{max-width:70rem;margin:2rem auto;padding:3rem 3.5rem;background:var(--paper);border:1px solid var(--line);border-radius:4px}
header{display:grid;gap:.15rem;padding-bottom:1.25rem;margin-bottom:1.5rem;border-bottom:2px solid var(--ink)}
.brand{margin:0;font-size:.78rem;font-weight:600;letter-spacing:.12em;text-transform:uppercase;color:var(--soft)}
h1{margin:0;font:600 2.3rem/1.15 Charter,"Bitstream Charter",Georgia,Cambria,"Times New Roman",serif;letter-spacing:-.01em}
.sub{margin:.2rem 0 0;color:var(--soft)}
h2{margin:3rem 0 .35rem;padding-top:.9rem;border-top:1px solid var(--line);font:600 1.3rem/1.3 Charter,"Bitstream Charter",Georgia,Cambria,"Times New Roman",serif}
.lead{margin:0 0 .4rem;color:var(--soft);max-width:44rem}
.verdict{display:flex;gap:1.1rem;align-items:center;padding:1.1rem 1.4rem;border:1px solid var(--c);border-left-width:6px;background:var(--b);border-radius:4px}
.good{--c:var(--good);--b:var(--good-bg)}.attention{--c:var(--attention);--b:var(--attention-bg)}.bad{--c:var(--bad);--b:var(--bad-bg)}
.sign{flex:none;margin:0;width:2.6rem;height:2.6rem;border:2px solid var(--c);border-radius:50%;color:var(--c);font-size:1.4rem;font-weight:700;line-height:2.4rem;text-align:center}
.badge{margin:0;font-size:.78rem;font-weight:700;letter-spacing:.1em;text-transform:uppercase;color:var(--c)}
.headline{margin:0;font-size:1.25rem;font-weight:600;line-height:1.35}
.left{margin:.15rem 0 0}
.figures{display:flex;flex-wrap:wrap;gap:1px;margin:1.25rem 0 0;background:var(--line);border:1px solid var(--line);border-radius:4px;overflow:hidden}
.figures div{flex:1 1 13rem;background:var(--paper);padding:.85rem 1.1rem}
dt{color:var(--soft);font-size:.82rem}
dd{margin:0;overflow-wrap:anywhere}
.figures dd{font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums;line-height:1.35;white-space:nowrap}
.figures .proof{font-size:.82rem;font-weight:400;white-space:normal}
.needs{margin:.7rem 0 1.2rem;padding:0;list-style:none;counter-reset:need;border:1px solid var(--line);border-radius:4px}
.needs li{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;justify-content:space-between;align-items:baseline;padding:.6rem 1rem;counter-increment:need}
.needs li+li{border-top:1px solid var(--line)}
.needs span{font-weight:600}
.needs span::before{content:counter(need) ". ";color:var(--soft);font-weight:400}
code{padding:.1rem .45rem;background:var(--head);border:1px solid var(--line);border-radius:3px;font:.86rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:1rem 0 0}
.scroll:focus-visible{outline:2px solid var(--bar);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-size:.9rem;overflow-wrap:normal}
caption{text-align:left;font-weight:600;font-size:.88rem;padding:0 0 .4rem}
th,td{padding:.44rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);font-weight:400}
th:first-child,td:first-child{padding-left:.4rem}th:last-child,td:last-child{padding-right:.4rem}
thead th{color:var(--soft);font-size:.8rem;font-weight:600;white-space:nowrap;vertical-align:bottom;border-bottom:1px solid var(--rule)}
tbody th{overflow-wrap:anywhere;min-width:8.2rem}tbody th.n,.pair .summed tbody th{min-width:0;overflow-wrap:normal}
tbody td{white-space:nowrap}
tbody td.w{white-space:normal;min-width:11rem;overflow-wrap:anywhere}
.n{text-align:right;font-variant-numeric:tabular-nums lining-nums;white-space:nowrap}
.grouped thead th[scope=colgroup]{text-align:right;color:var(--ink);font-size:.92rem;border-bottom:0}
.grouped thead td{border-bottom:0}
.grouped td:nth-child(even),.grouped tr:last-child th:nth-child(even){padding-left:1.8rem}
.narrow{width:auto;min-width:min(27rem,100%)}
.summed tbody tr:last-child>*{border-top:1px solid var(--rule);font-weight:600}
tbody tr:last-child>*{border-bottom:1px solid var(--rule)}
.note{margin:.45rem 0 0;color:var(--soft);font-size:.85rem}
.side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(27rem,100%),1fr));gap:.6rem 2.5rem;align-items:start}
.side>div,.pair>div{min-width:0}
.pair{display:grid;grid-template-columns:minmax(0,1fr);gap:0 2.5rem;align-items:start;margin-top:.9rem}
@media (min-width:60rem){.pair{grid-template-columns:minmax(0,23rem) minmax(0,1fr)}}
.pair+.pair{padding-top:.9rem}
figure{margin:1rem 0 0}
figcaption{font-weight:600;font-size:.88rem;margin-bottom:.55rem}
svg{display:block;width:100%;max-width:27rem;height:auto}
svg text{fill:var(--ink);font-size:13px;font-variant-numeric:tabular-nums}
svg .value{text-anchor:end}svg .soft{fill:var(--soft);font-size:12px}svg .strong{font-weight:600;paint-order:stroke;stroke:var(--paper);stroke-width:4;stroke-linejoin:round}
.bar{fill:var(--bar);stroke:var(--bar)}.bar.less{fill:var(--paper);stroke-width:1.5}.bar.sum{fill:var(--sum);stroke:var(--sum)}.bar.other{fill:var(--pale);stroke:var(--bar)}
.axis{stroke:var(--rule)}.mark{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 3}
.line{fill:none;stroke:var(--bar);stroke-width:2}.dot{fill:var(--paper);stroke:var(--sum);stroke-width:1.5}
.provenance{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:.8rem 1.5rem;margin:.8rem 0 0}
.provenance dd{font-variant-numeric:tabular-nums}
footer{margin-top:2.5rem;padding-top:.8rem;border-top:1px solid var(--line);color:var(--soft);font-size:.85rem}
footer p{margin:0}
@media (max-width:40rem){main{margin:0;padding:1.4rem 1rem 2rem;border:0;border-radius:0}h1{font-size:1.7rem}h2{margin-top:2.2rem}
.verdict{padding:.9rem 1rem;align-items:flex-start}.headline{font-size:1.1rem}.figures div{flex-basis:9rem}.figures dd{font-size:1.15rem;white-space:normal}th,td{padding:.4rem .55rem}}
@page{margin:14mm}
@media print{html{font-size:10pt}:root{color-scheme:light;--paper:#fff;--desk:#fff;--ink:#000;--soft:#3c3c3c;--line:#c4c4c4;--rule:#777;--head:#fff;--bar:#666;--sum:#000;--pale:#e2e2e2;--good:#000;--attention:#000;--bad:#000;--good-bg:#fff;--attention-bg:#fff;--bad-bg:#fff}
body{font-size:.95rem}main{max-width:none;margin:0;padding:0;border:0}h1{font-size:20pt}h2{font-size:13pt;margin-top:1.6rem;break-after:avoid}
.scroll{overflow:visible}table{font-size:.82rem}thead th{font-size:.76rem}th,td{padding:.2rem .3rem}.pair table{font-size:.76rem}thead th,tbody td{white-space:normal}tbody th{min-width:5rem}tbody td.w{min-width:0}tbody td{overflow-wrap:anywhere}.n{white-space:nowrap!important}
caption,.lead,figcaption{break-after:avoid}thead{display:table-header-group}tr,figure,.verdict,.figures,.needs li,.provenance div{break-inside:avoid}
.dense{font-size:.72rem}.dense th,.dense td{padding:.2rem;min-width:0}
.pair{grid-template-columns:minmax(0,1fr) minmax(0,1.4fr);gap:0 1.4rem;break-inside:avoid}.side{grid-template-columns:1fr 1fr;gap:.4rem 1.6rem}.side>div{break-inside:avoid-page}}
`;
