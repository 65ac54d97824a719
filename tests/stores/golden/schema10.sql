-- A database of schema 10: six runs, a seal that is signed, and a word after it. Made once by the code of that schema; only ever read.
CREATE TABLE audit (
    scope text not null,
    n integer not null,
    body text not null,
    head blob not null,
    primary key (scope, n)
) strict, without rowid;
INSERT INTO "audit" VALUES('cancelled',1,'{"at":1794835095.725,"run":"cancelled","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'F6181A7D545800122BFC3B6420098582051C7255CAE1DAA569131B0DF5740947');
INSERT INTO "audit" VALUES('cancelled',2,'{"at":1794835095.733,"run":"cancelled","verb":"answer","by":"ana","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e","seq":6}',X'BB93535EA8C2B21A5E7F6705778ABF1C2E258A8D40B1E4D1123B923FBC1226E3');
INSERT INTO "audit" VALUES('cancelled',3,'{"at":1794835095.741,"run":"cancelled","verb":"answer","by":"bo","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e","seq":9}',X'D571DEF664C2E6121BBB86D7E920D22A7E3CDDF50B4292739E46AC50FE7AE1F4');
INSERT INTO "audit" VALUES('cancelled',4,'{"at":1794835095.753,"run":"cancelled","verb":"cancel","by":"ana","from":"vm:22272","reason":"no longer wanted","seq":16}',X'1EDA24D791F8B9A4F134EE352E84CC98C3C04DC84D27F6BA1BCB82930FA4036C');
INSERT INTO "audit" VALUES('done',1,'{"at":1794835095.673,"run":"done","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'F15CA60BC587727064CB3F42B39CBE53670A3A38E8C4B45AE0BBA96B6E7314AA');
INSERT INTO "audit" VALUES('done',2,'{"at":1794835095.676,"run":"done","verb":"answer","by":"ana","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62","seq":6}',X'6A3230557525BA7FE4BE2BC7EFDBC072148A2A0CE47ED4AB90AE41A419C5CBFC');
INSERT INTO "audit" VALUES('done',3,'{"at":1794835095.679,"run":"done","verb":"answer","by":"bo","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62","seq":9}',X'0B9F7A576E8776AF50C4BDFFDE60090E553DBD412850A2D12F46E9EB29C1A9FA');
INSERT INTO "audit" VALUES('done',4,'{"at":1794835095.693,"run":"done","verb":"answer","by":"ana","from":"vm:22272","interrupt":"2.0?0","verdict":"approve","note":"","digest":"f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589","seq":16}',X'A5CC8FFD1BCBFF297C06832E5A43A1241272EC4622462C608D31CA4FCFD7EF55');
INSERT INTO "audit" VALUES('done',5,'{"at":1794835095.709,"run":"done","verb":"answer","by":"bo","from":"vm:22272","interrupt":"2.0?0","verdict":"approve","note":"","digest":"f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589","seq":19}',X'179A4D4799E8922201D6CA9FCE9038C84CB5183226C8E065ED948C6113E21421');
INSERT INTO "audit" VALUES('fresh',1,'{"at":1794835095.635,"run":"fresh","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'0ED45DE79795BF0E31064E1D087D4A80982EE4C8B36D335B9B097396F62ACAFB');
INSERT INTO "audit" VALUES('fresh',2,'{"at":1794835095.804,"run":"fresh","verb":"say","by":"ana","from":"vm:22272","seq":6}',X'5B99729C7C71CF3512BB4893436D508CEDBE2D652021B522EBA2CE20DEA652C0');
INSERT INTO "audit" VALUES('half',1,'{"at":1794835095.647,"run":"half","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'8E6EAA520715E4E081D52A8BC11E59337998A7D1E15C4B06743111BF750D5E95');
INSERT INTO "audit" VALUES('half',2,'{"at":1794835095.65,"run":"half","verb":"answer","by":"ana","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"ad1235d5f91e2c87900463e491970b75436d8bb0d2d9eba6e03b7207bf7472ef","seq":6}',X'0E3F4D02E972214CD4A3B1C9BB2A927BFAAB3CB0B48E65CA29E11FA67CD28548');
INSERT INTO "audit" VALUES('paused',1,'{"at":1794835095.769,"run":"paused","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'6450F7930A40B72E558F489BC711C1655BF781F8C101426211BCD675AF9608F3');
INSERT INTO "audit" VALUES('paused',2,'{"at":1794835095.777,"run":"paused","verb":"answer","by":"ana","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f","seq":6}',X'957DD3831783F3F3F9FFFA093AC3C5F88E222321730D89DACAB2549D37B6DE49');
INSERT INTO "audit" VALUES('paused',3,'{"at":1794835095.789,"run":"paused","verb":"answer","by":"bo","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f","seq":9}',X'98FC14524EBB7A31518C051FD591898E548BD9871A433103B3BDECB520E74387');
INSERT INTO "audit" VALUES('paused',4,'{"at":1794835095.802,"run":"paused","verb":"pause","by":"bo","from":"vm:22272","reason":"lunch","seq":16}',X'2CE874F7767B3549971804445D50BE08AB8FC5DE148323EFB7FFD173025B2933');
INSERT INTO "audit" VALUES('paused',5,'{"at":1794835095.802,"run":"paused","verb":"say","by":"ana","from":"vm:22272","seq":17}',X'37A65C3A947E73FC7504D45F71B9891EE29522522F18AD5D22B098B5FF093F67');
INSERT INTO "audit" VALUES('second',1,'{"at":1794835095.653,"run":"second","verb":"start","by":"eve","from":"vm:22272","seq":1}',X'C668D1EE4E19F84BF9D52A1AEAD3EA515B2BA0620F59A264A47F781F67ADF9B2');
INSERT INTO "audit" VALUES('second',2,'{"at":1794835095.656,"run":"second","verb":"answer","by":"ana","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30","seq":6}',X'217AE3C777452D0012C85843750979D2AABC1418CD46D53CF0D6C697CC2BC36C');
INSERT INTO "audit" VALUES('second',3,'{"at":1794835095.659,"run":"second","verb":"answer","by":"bo","from":"vm:22272","interrupt":"1.0?0","verdict":"approve","note":"","digest":"4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30","seq":9}',X'46F8CB255DF1329BE5239147183017CC91B8AF1D4E2FEA7B81AC9D6D1565E90F');
INSERT INTO "audit" VALUES('second',4,'{"at":1794835095.668,"run":"second","verb":"answer","by":"ana","from":"vm:22272","interrupt":"2.0?0","verdict":"approve","note":"","digest":"dfed02951325605f645c83aeefcd67901add2c096b8cf8251d16624b9d8ca80e","seq":16}',X'C24071C257A2B2AF7D149B37D5A259D4E43C3FCC9C61DF6FB3117A8224BE21D7');
CREATE TABLE audit_head (
    scope text primary key,
    n integer not null,
    head blob not null
) strict, without rowid;
INSERT INTO "audit_head" VALUES('cancelled',4,X'1EDA24D791F8B9A4F134EE352E84CC98C3C04DC84D27F6BA1BCB82930FA4036C');
INSERT INTO "audit_head" VALUES('done',5,X'179A4D4799E8922201D6CA9FCE9038C84CB5183226C8E065ED948C6113E21421');
INSERT INTO "audit_head" VALUES('fresh',2,X'5B99729C7C71CF3512BB4893436D508CEDBE2D652021B522EBA2CE20DEA652C0');
INSERT INTO "audit_head" VALUES('half',2,X'0E3F4D02E972214CD4A3B1C9BB2A927BFAAB3CB0B48E65CA29E11FA67CD28548');
INSERT INTO "audit_head" VALUES('paused',5,X'37A65C3A947E73FC7504D45F71B9891EE29522522F18AD5D22B098B5FF093F67');
INSERT INTO "audit_head" VALUES('second',4,X'C24071C257A2B2AF7D149B37D5A259D4E43C3FCC9C61DF6FB3117A8224BE21D7');
CREATE TABLE endpoint (
    name text primary key,
    kind text not null,
    url text not null,
    secret text not null,
    topics text not null,
    at real not null
) strict, without rowid;
CREATE TABLE halt (
    scope text primary key,
    by text not null,
    reason text not null,
    at real not null
) strict, without rowid;
CREATE TABLE interrupt (
    run integer not null,
    i text not null,
    seq integer not null,
    kind text not null,
    state text not null,
    digest text not null,
    event text not null,
    expires real not null,
    undoing integer not null,
    approvers integer not null,
    by text not null,
    votes text not null,
    opened_at real not null, lives text not null default '', disowned text not null default '', rank integer not null default 1,
    primary key (run, i)
) strict, without rowid;
INSERT INTO "interrupt" VALUES(1,'1.0?0',4,'approval','open','eb970afc90bb0a4a6bd761fdd2e9651548fe34e1a6a5db15e2837fe8f5cbd9d3','',0.0,0,2,'','{}',1794835095.645,'','',1);
INSERT INTO "interrupt" VALUES(2,'1.0?0',4,'approval','open','ad1235d5f91e2c87900463e491970b75436d8bb0d2d9eba6e03b7207bf7472ef','',0.0,0,2,'','{"ana":6}',1794835095.649,'','',1);
INSERT INTO "interrupt" VALUES(3,'1.0?0',4,'approval','decided','4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30','',0.0,0,2,'bo','{"ana":6,"bo":9}',1794835095.655,'1.0','',1);
INSERT INTO "interrupt" VALUES(3,'2.0?0',14,'approval','open','dfed02951325605f645c83aeefcd67901add2c096b8cf8251d16624b9d8ca80e','',0.0,0,2,'','{"ana":16}',1794835095.666,'','',1);
INSERT INTO "interrupt" VALUES(4,'1.0?0',4,'approval','decided','bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62','',0.0,0,2,'bo','{"ana":6,"bo":9}',1794835095.675,'1.0','',1);
INSERT INTO "interrupt" VALUES(4,'2.0?0',14,'approval','decided','f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589','',0.0,0,2,'bo','{"ana":16,"bo":19}',1794835095.685,'2.0','',1);
INSERT INTO "interrupt" VALUES(5,'1.0?0',4,'approval','decided','5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e','',0.0,0,2,'bo','{"ana":6,"bo":9}',1794835095.729,'1.0','',1);
INSERT INTO "interrupt" VALUES(5,'2.0?0',14,'approval','void','1e2a9a365b1e17d2dcab5f6cde4b1ceec962e68319ae26475de720d82601b5aa','',0.0,0,2,'','{}',1794835095.75,'','',1);
INSERT INTO "interrupt" VALUES(6,'1.0?0',4,'approval','decided','cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f','',0.0,0,2,'bo','{"ana":6,"bo":9}',1794835095.773,'1.0','',1);
INSERT INTO "interrupt" VALUES(6,'2.0?0',14,'approval','open','e0294a42a095d2b3c23af7f25efb4043e4a52492f3af9a8bf2b2a0553ffc95a1','',0.0,0,2,'','{}',1794835095.801,'','',1);
CREATE TABLE journal (
    run integer not null,
    seq integer not null,
    epoch integer not null,
    body text not null,
    head blob not null,
    primary key (run, seq)
) strict, without rowid;
INSERT INTO "journal" VALUES(1,1,0,'{"t":"started","run":"fresh","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for fresh","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.634}',X'520DE1375508091F7884C57E54D801CB43E0A061D45E340822E24C27B6687328');
INSERT INTO "journal" VALUES(1,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.641}',X'89CE770054E8A1DCE61CA4F69CB4C69537D68EBDC00CB4C6EBBE15627C9726E4');
INSERT INTO "journal" VALUES(1,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":7,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.645}',X'FAD4E8355B7CA95C45C06A351F6C15D05557651DE5E6F0A2C25681C50BBD9390');
INSERT INTO "journal" VALUES(1,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"eb970afc90bb0a4a6bd761fdd2e9651548fe34e1a6a5db15e2837fe8f5cbd9d3","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"5b11bb05db006aa4e6541395411cc18741a46aa5fbf6ef3352b3db55306c6d97","requesters":["eve"],"at":1794835095.645}',X'3A9EE13F05DD52971B7A93A6D4CF897EF83A9B0636EBA87D904535992C4C90CB');
INSERT INTO "journal" VALUES(1,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.645}',X'5634D4343CA92638C4D986DB97F0ED4C31430F63E3565466A6FDB03E487B9CF6');
INSERT INTO "journal" VALUES(1,6,0,'{"t":"said","text":"after the seal","by":"ana","at":1794835095.804}',X'E11EB5FB9CAA516A57047FBBE63B2AC9DE763A22C769FD3DBB624F52FFE2992A');
INSERT INTO "journal" VALUES(1,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.812}',X'5ECA9F4ED1770EA4AEE8BECA325C3567F75762B21F5CA1462672E31E7A76473F');
INSERT INTO "journal" VALUES(1,8,2,'{"t":"released","why":"the worker closes","usage":{},"at":1794835095.812}',X'7C79DA3AB7FC07F1667F996043BD4D4DD570B5892951EB65966A3EB591E59BBC');
INSERT INTO "journal" VALUES(2,1,0,'{"t":"started","run":"half","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for half","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.647}',X'4DCB22A368BEC7193A7DE08184B18121BBE9EE1433F0A09F63D2F0C1A159194E');
INSERT INTO "journal" VALUES(2,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.648}',X'E1F9D4EC49F2733C3F1143A4FD6D69CF5976A0126D863C95DA493889D56F391E');
INSERT INTO "journal" VALUES(2,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":6,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.648}',X'8E7646482A148C5A400A302764D64D284BB932050E4B2600CAA923F8FD557C3A');
INSERT INTO "journal" VALUES(2,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"ad1235d5f91e2c87900463e491970b75436d8bb0d2d9eba6e03b7207bf7472ef","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"e42c6d0abee5c30908f9477a26c7a3ed0907830faf26c8a8f9a71777df942928","requesters":["eve"],"at":1794835095.649}',X'BFD2DF6BFCE512CB183EF9C62AE039749C34B1EB45C2C6A3A2F840937A8EE6ED');
INSERT INTO "journal" VALUES(2,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.649}',X'0B5AEB480FD4757218E4E9DD88F1DB15B31216D250541348FB9BD9C2440052AA');
INSERT INTO "journal" VALUES(2,6,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"ad1235d5f91e2c87900463e491970b75436d8bb0d2d9eba6e03b7207bf7472ef","at":1794835095.65}',X'01C94B1E310EE6146102755AE7300930A57619FDC63E846D655D4B437941074F');
INSERT INTO "journal" VALUES(2,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.652}',X'E8FF04F3D3CC08ECB224E831DB6C3E7683B819DA2003AA261723020167D239E5');
INSERT INTO "journal" VALUES(2,8,2,'{"t":"parked","wake_at":0.0,"at":1794835095.652}',X'E71A818ECA2AEF125838EB34AEB482A0B2F3686E6148B1945CED23F8EC9E4D95');
INSERT INTO "journal" VALUES(3,1,0,'{"t":"started","run":"second","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for second","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.653}',X'DD1E93D55F73B5B516E7F8ABD5949F0956B1564301B57E00CE6A01FA107D8633');
INSERT INTO "journal" VALUES(3,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.654}',X'7B8C0CAF8531E75C7BBF2317411F39CE347EEC453207D9A5963ED9AB15A38B74');
INSERT INTO "journal" VALUES(3,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":7,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.654}',X'69A17BCBB04B64EBD45E46B2539DBE293278B89D2A73D323FAB4CE4941977503');
INSERT INTO "journal" VALUES(3,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"f0613dd5888646f7c95f3dff2fce48d989d7408d547ef6c4cddb63266209d188","requesters":["eve"],"at":1794835095.655}',X'0EB5D6FC3DB8AE6FD7200F500356543580DB4D2E77803AE7D0FA395973A05552');
INSERT INTO "journal" VALUES(3,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.655}',X'76689127671535183CEB09302D103B9DF777833DC8BDF40F4190F18D7B5778DA');
INSERT INTO "journal" VALUES(3,6,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30","at":1794835095.656}',X'C6A7A0F71AC95A3BDA6A2FC0AE2BC1E410098C44BE230DB2898FA7967CFDD06F');
INSERT INTO "journal" VALUES(3,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.657}',X'54991869E50B136E0BC78FBAA55287E8B3AF30C6A3CD563D47B1292FF977F168');
INSERT INTO "journal" VALUES(3,8,2,'{"t":"parked","wake_at":0.0,"at":1794835095.657}',X'5DD80A6BD8AE0472677A50CBEAE3A82796E13EF66934DC2D563CD6691D9E0A42');
INSERT INTO "journal" VALUES(3,9,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"bo","digest":"4fb74667da92ca1f42d60899a94607081b320b40af62b4e94900e48790e1af30","at":1794835095.659}',X'0C77FB20BE31C3D60B310FCE30FEAB7B071159001794FB2DC67FBC552AC2B81C');
INSERT INTO "journal" VALUES(3,10,3,'{"t":"claimed","epoch":3,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.66}',X'F23E4C0679811C53FE5C5A70DC8C7FD644CEE2730A34F2641D06131A60E0814F');
INSERT INTO "journal" VALUES(3,11,3,'{"t":"intended","call":"1.0","tool":"pay","digest":"f0613dd5888646f7c95f3dff2fce48d989d7408d547ef6c4cddb63266209d188","effect":"idempotent","undo":true,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"grant":"1.0?0","at":1794835095.66}',X'42AF0DBF5ED0AC324C5CDEC24234560D6AC8A0A30018BC91A56CA12F94D6C830');
INSERT INTO "journal" VALUES(3,12,3,'{"t":"returned","call":"1.0","value":"paid a","took":0.0001,"at":1794835095.661}',X'D3AF99CECB959A2D90A1223E057F4571597DEA0443A7B5AE929D5000E4948F64');
INSERT INTO "journal" VALUES(3,13,3,'{"t":"replied","upto":12,"parts":[{"type":"call","id":"call_1_0","tool":"pay","args":{"order":"b"}}],"usage":{"requests":1,"input_tokens":59,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.666}',X'D3342C2B41BB9AF13D18892AEFFF96422F2787F74DB5183D0AE6DC9F8B39C96B');
INSERT INTO "journal" VALUES(3,14,3,'{"t":"asked","i":"2.0?0","kind":"approval","call":"2.0","tool":"pay","args":{"order":"b"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"dfed02951325605f645c83aeefcd67901add2c096b8cf8251d16624b9d8ca80e","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"11735a3c430b276cfa9752a7ff1aea662fe1261117d0b1787fe64ed090d243bb","requesters":["eve"],"at":1794835095.666}',X'B3C3919E7CB3ABF702E385691AAC4DA01E543CCFB705BA1C2B809A6A16899337');
INSERT INTO "journal" VALUES(3,15,3,'{"t":"parked","wake_at":0.0,"at":1794835095.666}',X'CFDED61E5DA3F504A71C1F6974EA51F63A4D74A48051B6363BAC3026B134A107');
INSERT INTO "journal" VALUES(3,16,0,'{"t":"decided","i":"2.0?0","verdict":"approve","by":"ana","digest":"dfed02951325605f645c83aeefcd67901add2c096b8cf8251d16624b9d8ca80e","at":1794835095.668}',X'D1030F3FC2CDCCB3312C6DA5ED8FBEE5FB060A552AF53982CCB7B5A843598758');
INSERT INTO "journal" VALUES(3,17,4,'{"t":"claimed","epoch":4,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.669}',X'3B064F7B4A1E93267175316F488398009B24A7FF09AB6EBBE6D60D29BD7B9590');
INSERT INTO "journal" VALUES(3,18,4,'{"t":"parked","wake_at":0.0,"at":1794835095.669}',X'D9597B8D3CBBE1FD900A04A5E65F2DFBABE5165E4216536A10B58B7CB8F8BD6F');
INSERT INTO "journal" VALUES(4,1,0,'{"t":"started","run":"done","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for done","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.673}',X'90C3B475AAAF4A98B51EF41AD7D78088780ED104A0AE13FD88BC64B4C40E9245');
INSERT INTO "journal" VALUES(4,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.674}',X'E880DDDE7C5999F9D255ED8014FDCEF92FAABEDABC522E1717094DD23A07EEAF');
INSERT INTO "journal" VALUES(4,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":6,"output_tokens":5},"model":"scripted","took":0.0002,"at":1794835095.675}',X'D88C590D22DD3F7BE6C50CBF2C9F22CD3489E52DA9093D7B8A2664F79DA1A517');
INSERT INTO "journal" VALUES(4,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"8d36051111bbe2b8f62af2ac2cd74d9aac74d3ca2535b108253c835e4c46e720","requesters":["eve"],"at":1794835095.675}',X'0CA489033367D58EF4BED333BCAB5D1A5E4BD17B85D93FAEE5A8CC74627537FD');
INSERT INTO "journal" VALUES(4,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.675}',X'B23BCFC4CB40517592626701521FE1746F240CE557E5028E8FFE149F6B80490A');
INSERT INTO "journal" VALUES(4,6,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62","at":1794835095.676}',X'E6ABB66822F57DBE9EDAD4049ECF204592B5BDB410300C24A542EA34C7CA33F1');
INSERT INTO "journal" VALUES(4,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.677}',X'83E306A76B3CF43AEF332AA714E2187AFC527F3221433DAC945D93A59E218305');
INSERT INTO "journal" VALUES(4,8,2,'{"t":"parked","wake_at":0.0,"at":1794835095.677}',X'7E865614DF540D8A0D0132AC7C46077B63F84273C5DE6CAA344889BB5B8ECAB7');
INSERT INTO "journal" VALUES(4,9,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"bo","digest":"bb6e2060f5be7af13b0896a9e7e975132d675ae8ad41be248705e0f05ba17e62","at":1794835095.679}',X'98785F6AE3C57F2A68B1DF4924E586CBF1B9AC62BD5F37C8FA253FFD9A893E08');
INSERT INTO "journal" VALUES(4,10,3,'{"t":"claimed","epoch":3,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.68}',X'3CF2FAA742637CF6CFE432C2FC58759859DC64F788A93092AEB2C5291AFE99D6');
INSERT INTO "journal" VALUES(4,11,3,'{"t":"intended","call":"1.0","tool":"pay","digest":"8d36051111bbe2b8f62af2ac2cd74d9aac74d3ca2535b108253c835e4c46e720","effect":"idempotent","undo":true,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"grant":"1.0?0","at":1794835095.681}',X'1F2CCA69DCB4B322A9BC9F8A68B3057ACA445D7DB03B6981D3F36C2DEB3AB20F');
INSERT INTO "journal" VALUES(4,12,3,'{"t":"returned","call":"1.0","value":"paid a","took":0.0001,"at":1794835095.682}',X'4D74DFA7360CE6FA62C11A813D968F94F381055BE8677492BEF6B40F83386D1B');
INSERT INTO "journal" VALUES(4,13,3,'{"t":"replied","upto":12,"parts":[{"type":"call","id":"call_1_0","tool":"pay","args":{"order":"b"}}],"usage":{"requests":1,"input_tokens":59,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.684}',X'6D0CF2386A59420534CE8EF6C8725C83173C54C9888D7685C257C082FA60A06B');
INSERT INTO "journal" VALUES(4,14,3,'{"t":"asked","i":"2.0?0","kind":"approval","call":"2.0","tool":"pay","args":{"order":"b"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"4ecc5252f9c3532dfb95f542211c00ee3f47f9a5f95b5235826585eec3202857","requesters":["eve"],"at":1794835095.685}',X'024785FEB9D5BEA4C56A9C8B631FF41F5C536AA0559EB1BDAD867A58CCFA2FA2');
INSERT INTO "journal" VALUES(4,15,3,'{"t":"parked","wake_at":0.0,"at":1794835095.685}',X'39792FB3AD67BD358ACEFAD49152C8274D534D417F9F454C8FD6AB9D3C778079');
INSERT INTO "journal" VALUES(4,16,0,'{"t":"decided","i":"2.0?0","verdict":"approve","by":"ana","digest":"f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589","at":1794835095.693}',X'777A819BA1CE63DE3EB2EBA9D24363029EB727341CDFFC5CA005F9A24A19CD67');
INSERT INTO "journal" VALUES(4,17,4,'{"t":"claimed","epoch":4,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.699}',X'FD0B0C89455B53206D22F4F75637FBA9E0FF155F17A0C59971744E054D6E6C16');
INSERT INTO "journal" VALUES(4,18,4,'{"t":"parked","wake_at":0.0,"at":1794835095.704}',X'E55510B66999B9A92701C55B25354B5AAAE8E5E57E396B2A0E55CB25CF2986DE');
INSERT INTO "journal" VALUES(4,19,0,'{"t":"decided","i":"2.0?0","verdict":"approve","by":"bo","digest":"f6c14f2a7a31d64f4ace5db28f8bae708d8b9b0db9a46d90da54049c40791589","at":1794835095.709}',X'09D3A5A5789BE006FAAD6268D601C52D608897EE78EC13488929538154622464');
INSERT INTO "journal" VALUES(4,20,5,'{"t":"claimed","epoch":5,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.711}',X'5CCCC039898F5137A9397A875E97EDC8485395878EE160E37D66AFA24835D52D');
INSERT INTO "journal" VALUES(4,21,5,'{"t":"intended","call":"2.0","tool":"pay","digest":"4ecc5252f9c3532dfb95f542211c00ee3f47f9a5f95b5235826585eec3202857","effect":"idempotent","undo":true,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"grant":"2.0?0","at":1794835095.712}',X'CA2ED263FFB4D64228DA75F80A0714FB9146C587900B36F3ABB75B5F1FC06AC1');
INSERT INTO "journal" VALUES(4,22,5,'{"t":"returned","call":"2.0","value":"paid b","took":0.0001,"at":1794835095.716}',X'28669C74FBAAAE622C8FE892625F75CEE895E7416EF1E3D7CAAAAE8D9BA4FF81');
INSERT INTO "journal" VALUES(4,23,5,'{"t":"replied","upto":22,"parts":[{"type":"text","text":"done"}],"usage":{"requests":1,"input_tokens":111,"output_tokens":1},"model":"scripted","output":"done","final":true,"took":0.0001,"at":1794835095.72}',X'501B517A94D309C2331A14A85C7A71484E3AB5592B89E365290A0FD4CAEE57B7');
INSERT INTO "journal" VALUES(4,24,5,'{"t":"completed","output":"done","at":1794835095.72}',X'BCD07662357686FCCD6A2CB48A335013BDD00CBFDEF6D8E6637FFBD8ACCF3B4C');
INSERT INTO "journal" VALUES(5,1,0,'{"t":"started","run":"cancelled","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for cancelled","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.725}',X'7C99C5F5E6005CBC8075C74E373BB6F95B39A59CD2810A1601159D05B5C56945');
INSERT INTO "journal" VALUES(5,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.729}',X'17026BB1A8AB71BFD045B52B99168F0C8E3C5C1576D9D4695B7DE69A328D7266');
INSERT INTO "journal" VALUES(5,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":8,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.729}',X'F53315B4608227B4F8509094D6499CA3196B011989125AC567D57C6EF631CAF6');
INSERT INTO "journal" VALUES(5,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"ec1e216c220142bec87abbc1bcf069ca711d0016e2c55e1f4f0040e147b06754","requesters":["eve"],"at":1794835095.729}',X'003979B5E6BA52DC14A28B35C7EB9652E69AC8694CFEDA9B28E85BC612859F8F');
INSERT INTO "journal" VALUES(5,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.729}',X'F9ECB4B5B52854D21529FDAA9E13D74C43719A78F9CC600331CE755013A5BC1F');
INSERT INTO "journal" VALUES(5,6,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e","at":1794835095.733}',X'D9C87A31F916766BE8C2144F9703BFF91999932D2BB58F491CBA3F7757F5ED24');
INSERT INTO "journal" VALUES(5,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.736}',X'6EB188BCF1537E5763BA7A85F1631A8AAFB31DC4AD3959C85CBFA55D8B07CEAC');
INSERT INTO "journal" VALUES(5,8,2,'{"t":"parked","wake_at":0.0,"at":1794835095.737}',X'A2C2A8FD4183595496F0F658C268F18FBADDD65DDB4B3990F1E024F7AA55F460');
INSERT INTO "journal" VALUES(5,9,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"bo","digest":"5105576387eb4bfab1754d5a5804c5a65f03ace1cba44cd0d2e92d0329f8557e","at":1794835095.741}',X'73AC349D27FE22B673E89984CC32CFD09F60D817B4E2942D8DC9EF21F84FE73D');
INSERT INTO "journal" VALUES(5,10,3,'{"t":"claimed","epoch":3,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.745}',X'2B83F19C9DA0B6C92F239FB15F51781BD218E5ADD897E6916AAEA25C9B661560');
INSERT INTO "journal" VALUES(5,11,3,'{"t":"intended","call":"1.0","tool":"pay","digest":"ec1e216c220142bec87abbc1bcf069ca711d0016e2c55e1f4f0040e147b06754","effect":"idempotent","undo":true,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"grant":"1.0?0","at":1794835095.745}',X'DD5C09154F158EF06EC4AC390E5854165A56A10EEB2F94157489170E3EE2548F');
INSERT INTO "journal" VALUES(5,12,3,'{"t":"returned","call":"1.0","value":"paid a","took":0.0001,"at":1794835095.748}',X'55F44B5A7742F641940774920983E5CA9F81BDCD3D51ECCCA517F35D9DAB18B5');
INSERT INTO "journal" VALUES(5,13,3,'{"t":"replied","upto":12,"parts":[{"type":"call","id":"call_1_0","tool":"pay","args":{"order":"b"}}],"usage":{"requests":1,"input_tokens":60,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.75}',X'BD512DB6B209EC12019F1A3121AAFDC1C07A61F264A1813C5FDB3FE002BEE0F7');
INSERT INTO "journal" VALUES(5,14,3,'{"t":"asked","i":"2.0?0","kind":"approval","call":"2.0","tool":"pay","args":{"order":"b"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"1e2a9a365b1e17d2dcab5f6cde4b1ceec962e68319ae26475de720d82601b5aa","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"7eb70c34f037b015f697f079c3310bead984d760d1980f9a1cffd72bdf3084eb","requesters":["eve"],"at":1794835095.75}',X'6DAEAB92090B03579BA77D517E9A6053AD49AC1E67F037D6A5FBA9CA6C66EF30');
INSERT INTO "journal" VALUES(5,15,3,'{"t":"parked","wake_at":0.0,"at":1794835095.75}',X'5F13D06D56A4CAFAD165489B6CD7B86B23F7213588A1262628E2749670236B00');
INSERT INTO "journal" VALUES(5,16,0,'{"t":"cancel_asked","by":"ana","reason":"no longer wanted","at":1794835095.753}',X'9B3FF8DE60FE8788DF56FB5259FDD9C7D540874CAC3DAFE027D055A9AC86471A');
INSERT INTO "journal" VALUES(5,17,4,'{"t":"claimed","epoch":4,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.757}',X'880D15389BAD2C6D34587E337554FF1AB3CB500F891C895A2A34F78BD18B57FD');
INSERT INTO "journal" VALUES(5,18,4,'{"t":"intended","call":"1.0!undo","tool":"pay","effect":"idempotent","why":"undo","at":1794835095.757}',X'04C8BBCE8FA1E79F1F050ACEC5CB2AE11FDD985488D4E1A46E5800453ED427E6');
INSERT INTO "journal" VALUES(5,19,4,'{"t":"returned","call":"1.0!undo","at":1794835095.764}',X'32B572AF7C85F3C9D67B7A3553C1B5A7B40BA7FE261836E240BC790833597F11');
INSERT INTO "journal" VALUES(5,20,4,'{"t":"cancelled","undone":["1.0"],"at":1794835095.764}',X'F66A3DC1A3F44793BC3CCD6F268BCB787BB8149776F54C09A92DD5660789A11A');
INSERT INTO "journal" VALUES(6,1,0,'{"t":"started","run":"paused","kind":"agent","program":"clerk","fingerprint":{"name":"clerk","tools":{"pay":"d80a974a12379f38"},"parameters":{"pay":{"":"62a973f4","order":"7cd929c1"}},"policy":["ask pay","default ask"],"output":"","strictness":{"ask pay":[[[[[],2]],false,0.0]]}},"input":"order for paused","by":"eve","session":"s1","labels":{"customer":"42"},"at":1794835095.769}',X'652FE894B0BCA27BD7BA978B720D2983BB378E640D6599659127A8F9555327B3');
INSERT INTO "journal" VALUES(6,2,1,'{"t":"claimed","epoch":1,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.773}',X'13F627AC5112A073D12BC9C04BCCD64A781E2AE9A10FCDCCC8150635F7025E49');
INSERT INTO "journal" VALUES(6,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"pay","args":{"order":"a"}}],"usage":{"requests":1,"input_tokens":7,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.773}',X'E7728DCE49DA919174C6F8CFDF12BF4C859B850D89B37FF2605F9F8014E2B615');
INSERT INTO "journal" VALUES(6,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"pay","args":{"order":"a"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"d33ce040db56d40cbd8cf8777b02a4b8010d1705200720a62e91a8df551d71e9","requesters":["eve"],"at":1794835095.773}',X'0D13AAB9D427A13A282E21DBDA6D1EA9BE8D604EDC6B17939909C084B54DB05F');
INSERT INTO "journal" VALUES(6,5,1,'{"t":"parked","wake_at":0.0,"at":1794835095.773}',X'290373AAD37030F9E0593B5BAE602D9875E2B855D69B4F4550AFB9E3568CF0F0');
INSERT INTO "journal" VALUES(6,6,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f","at":1794835095.777}',X'943FDE7A8977F8877177B029E9A78EBD5C5D7736A749A277A8FBC0C9C8ED3FBF');
INSERT INTO "journal" VALUES(6,7,2,'{"t":"claimed","epoch":2,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.785}',X'736FDB7873FC03D1E960862F0C0D04E62A51C250C044F0B5F9C6E3247B7DA6E6');
INSERT INTO "journal" VALUES(6,8,2,'{"t":"parked","wake_at":0.0,"at":1794835095.785}',X'47FA3B25DF5D446366C8E2E866CC5EAFEB804580444F8D6FD28F05CDD6BB752F');
INSERT INTO "journal" VALUES(6,9,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"bo","digest":"cf918b21fa6f610c8a9060d15a5964d277f222eb87085a914908302a3040be5f","at":1794835095.789}',X'942E204DC2A7ECDEB539F24888548EB1C2B90D3D449186A14CF07B556684D3AB');
INSERT INTO "journal" VALUES(6,10,3,'{"t":"claimed","epoch":3,"worker":"vm/42f609d1/4026531836|22272|2769839|315c4d48","at":1794835095.79}',X'3E7BB436347F5D91B182095C45CC08B2A0850DA459377B955324ACD1D9C4155A');
INSERT INTO "journal" VALUES(6,11,3,'{"t":"intended","call":"1.0","tool":"pay","digest":"d33ce040db56d40cbd8cf8777b02a4b8010d1705200720a62e91a8df551d71e9","effect":"idempotent","undo":true,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"grant":"1.0?0","at":1794835095.791}',X'F64E14BA5291B99414BDDE2E5A4E9AA9BF821D1E021C1E1DB691021FE53F8D48');
INSERT INTO "journal" VALUES(6,12,3,'{"t":"returned","call":"1.0","value":"paid a","took":0.0001,"at":1794835095.792}',X'0C71A6BD47C24D2CC11ED203E533FB6FE3C733332389C40E71CB0395E0B627B0');
INSERT INTO "journal" VALUES(6,13,3,'{"t":"replied","upto":12,"parts":[{"type":"call","id":"call_1_0","tool":"pay","args":{"order":"b"}}],"usage":{"requests":1,"input_tokens":59,"output_tokens":5},"model":"scripted","took":0.0001,"at":1794835095.8}',X'13E69CC57F6D87F391C26756F138BA54D5584F717337EDACDDAF36AECD0EADFE');
INSERT INTO "journal" VALUES(6,14,3,'{"t":"asked","i":"2.0?0","kind":"approval","call":"2.0","tool":"pay","args":{"order":"b"},"definition":"1060496aac3abdf040b01c8b10a750bf974a7ef501275f8eded3424adcb8f503","describes":"Pay.","effect":"idempotent","undo":true,"digest":"e0294a42a095d2b3c23af7f25efb4043e4a52492f3af9a8bf2b2a0553ffc95a1","rules":["ask pay"],"approvers":2,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"}},"required":["order"],"type":"object"},"expires":0.0,"gate":[{"rule":"6a2d3ed7c474cfa20f03be9d","count":2}],"action":"539b5af27709bb486ca2e9867898bbd3e7c43ad2e47a5677209abb7811c53a00","requesters":["eve"],"at":1794835095.801}',X'37FC62724D4A74DDBFEFE756797F18A0D5FE876D2E7EF3B27D0F74706695E8AD');
INSERT INTO "journal" VALUES(6,15,3,'{"t":"parked","wake_at":0.0,"at":1794835095.801}',X'32A864729DF0572BE413E245327DDAA80E36AF8F520D50D4D7CF10E14A906B6C');
INSERT INTO "journal" VALUES(6,16,0,'{"t":"pause_asked","by":"bo","reason":"lunch","at":1794835095.802}',X'7765EA56C44FC99C250FC19740B476620AB181FD2632CFB1F466445FF61C620D');
INSERT INTO "journal" VALUES(6,17,0,'{"t":"said","text":"look again","by":"ana","at":1794835095.802}',X'ACFE3C4F97437A85E10A4954B797684FFA7501B1302650079B7C0BB1D3D31953');
CREATE TABLE letter (
    n integer primary key autoincrement,
    id text not null,
    endpoint text not null,
    topic text not null,
    run text not null,
    body text not null,
    at real not null,
    state text not null,
    tries integer not null,
    due_at real not null,
    error text not null
) strict;
CREATE TABLE meta (
    key text primary key,
    value text not null
) strict, without rowid;
INSERT INTO "meta" VALUES('store','45bf458196bbd46085d6010efb90e343');
CREATE TABLE misfit (
    run integer primary key,
    seq integer not null,
    body text not null
) strict;
CREATE TABLE request (
    run integer not null,
    id text not null,
    seq integer not null,
    body text not null,
    primary key (run, id)
) strict, without rowid;
CREATE TABLE run (
    n integer primary key,
    id text not null unique,
    kind text not null,
    program text not null,
    session text not null,
    labels text not null,
    title text not null,
    input_digest text not null,
    seq integer not null,
    head blob not null,
    status text not null,
    epoch integer not null,
    worker text not null,
    wake_at real not null,
    blocked text not null,
    opens integer not null,
    errors integer not null,
    stopped integer not null,
    created_at real not null,
    updated_at real not null
, requesters text not null default '') strict;
INSERT INTO "run" VALUES(1,'fresh','agent','clerk','s1','{"customer":"42"}','order for fresh','b2007c7c41a801c143ec17bfd604fd7b3af7dc60d270b5d041269616389721f9',8,X'7C79DA3AB7FC07F1667F996043BD4D4DD570B5892951EB65966A3EB591E59BBC','ready',2,'',0.0,'',1,0,0,1794835095.634,1794835095.812,'["ana","eve"]');
INSERT INTO "run" VALUES(2,'half','agent','clerk','s1','{"customer":"42"}','order for half','f72ae07dbbaa0caa8c71286a5aa6be7cb7f7ebbed37861ade1a0568317825c96',8,X'E71A818ECA2AEF125838EB34AEB482A0B2F3686E6148B1945CED23F8EC9E4D95','waiting',2,'',0.0,'',1,0,0,1794835095.647,1794835095.652,'["eve"]');
INSERT INTO "run" VALUES(3,'second','agent','clerk','s1','{"customer":"42"}','order for second','96b78ac2bd0d715f426e6eb5fcbc6b2990a3b9328e5b6ccf3d0cf2565d7caebe',18,X'D9597B8D3CBBE1FD900A04A5E65F2DFBABE5165E4216536A10B58B7CB8F8BD6F','waiting',4,'',0.0,'',1,0,0,1794835095.653,1794835095.669,'["eve"]');
INSERT INTO "run" VALUES(4,'done','agent','clerk','s1','{"customer":"42"}','order for done','11b06bf0ac38ea7372272917f33ceccabd4886a159b4c09185da5190310c2d88',24,X'BCD07662357686FCCD6A2CB48A335013BDD00CBFDEF6D8E6637FFBD8ACCF3B4C','completed',5,'',0.0,'',0,0,0,1794835095.673,1794835095.72,'["eve"]');
INSERT INTO "run" VALUES(5,'cancelled','agent','clerk','s1','{"customer":"42"}','order for cancelled','654956b72bd4a70855c4cd2ea100f1e47562edf7b4ae468a33b29dd32b15310c',20,X'F66A3DC1A3F44793BC3CCD6F268BCB787BB8149776F54C09A92DD5660789A11A','cancelled',4,'',0.0,'',0,0,0,1794835095.725,1794835095.764,'["eve"]');
INSERT INTO "run" VALUES(6,'paused','agent','clerk','s1','{"customer":"42"}','order for paused','5b7792443e5e145678a83789277b52979a762a1e8aa78d08e45701cc0934c2b6',17,X'ACFE3C4F97437A85E10A4954B797684FFA7501B1302650079B7C0BB1D3D31953','paused',3,'',0.0,'',1,0,0,1794835095.769,1794835095.802,'["ana","eve"]');
CREATE TABLE seal (
    k integer primary key,
    at real not null,
    prev blob not null,
    body text not null,
    hash blob not null,
    kid text not null,
    sig blob not null
) strict;
INSERT INTO "seal" VALUES(1,1794835095.803,X'','[["cancelled",4,"1eda24d791f8b9a4f134ee352e84cc98c3c04dc84d27f6ba1bcb82930fa4036c",20,"f66a3dc1a3f44793bc3ccd6f268bcb787bb8149776f54c09a92dd5660789a11a"],["done",5,"179a4d4799e8922201d6ca9fce9038c84cb5183226c8e065ed948c6113e21421",24,"bcd07662357686fccd6a2cb48a335013bdd00cbfdef6d8e6637ffbd8accf3b4c"],["fresh",1,"0ed45de79795bf0e31064e1d087d4a80982ee4c8b36d335b9b097396f62acafb",5,"5634d4343ca92638c4d986db97f0ed4c31430f63e3565466a6fdb03e487b9cf6"],["half",2,"0e3f4d02e972214cd4a3b1c9bb2a927bfaab3cb0b48e65ca29e11fa67cd28548",8,"e71a818eca2aef125838eb34aeb482a0b2f3686e6148b1945ced23f8ec9e4d95"],["paused",5,"37a65c3a947e73fc7504d45f71b9891ee29522522f18ad5d22b098b5ff093f67",17,"acfe3c4f97437a85e10a4954b797684ffa7501b1302650079b7c0bb1d3d31953"],["second",4,"c24071c257a2b2af7d149b37d5a259d4e43c3fcc9c61df6fb3117a8224be21d7",18,"d9597b8d3cbbe1fd900a04a5e65f2dfbabe5165e4216536a10b58b7cb8f8bd6f"]]',X'04DF7F1B2624147CCDF19EC170AD94C99A32C828DAE2EC96C6E4E70E2E831346','4fa017765ed740ac',X'0192C5C03D5CCD7E68C12217A4A17EE4EFEE96700993F5A193CAED7A23C3A12D');
CREATE TABLE touched (
    scope text primary key,
    at real not null
) strict, without rowid;
INSERT INTO "touched" VALUES('fresh',1794835095.804);
CREATE TABLE worker (
    id text primary key,
    until real not null
) strict, without rowid;
CREATE INDEX run_due on run (program) where status in ('ready', 'pausing', 'cancelling');
CREATE INDEX run_wake on run (wake_at) where wake_at > 0;
CREATE INDEX run_blocked on run (program) where blocked <> '';
CREATE INDEX run_status on run (status, n);
CREATE INDEX run_program on run (program, n);
CREATE INDEX run_session on run (session, n) where session <> '';
CREATE INDEX interrupt_id on interrupt (i);
CREATE INDEX letter_due on letter (endpoint, run, n) where state = 'due';
CREATE INDEX letter_time on letter (due_at) where state = 'due';
CREATE INDEX letter_dead on letter (n) where state = 'dead';
CREATE INDEX audit_time on audit (json_extract(body, '$.at'), scope, n);
CREATE INDEX run_worker on run (worker) where worker <> '';
CREATE INDEX interrupt_open on interrupt (rank, opened_at, run, seq) where state = 'open';
DELETE FROM "sqlite_sequence";
PRAGMA user_version=10;
