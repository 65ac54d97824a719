-- A database of schema 4: seven runs, a halt, an endpoint. Made once by the code of that schema; only ever read.
CREATE TABLE audit (
    scope text not null,
    n integer not null,
    body text not null,
    head blob not null,
    primary key (scope, n)
) strict, without rowid;
INSERT INTO "audit" VALUES('',1,'{"at":1794809794.348,"run":"","verb":"add endpoint","by":"ana","from":"","endpoint":"ops"}',X'9835A8E424B8AF608C002963B72E31959B29EAFE36477CA16CEC7F622E1B1526');
INSERT INTO "audit" VALUES('',2,'{"at":1794809795.085,"run":"","verb":"halt","by":"ana","from":"desk:11122","scope":"tool:look","reason":"incident"}',X'5A25FD45447CFC7C8A4AEC621BFA702AC48AD94C295F787991FDFEED1E731825');
INSERT INTO "audit" VALUES('',3,'{"at":1794809795.088,"run":"","verb":"halt","by":"ana","from":"desk:11122","scope":"tool:x","reason":"incident"}',X'F11306D91E521005BC560B85A51B523C575705F7940A981FE13FEA3A648794FC');
INSERT INTO "audit" VALUES('',4,'{"at":1794809795.092,"run":"","verb":"unhalt","by":"ana","from":"desk:11122","scope":"tool:x","reason":""}',X'9D42283F9956DBAD49545D23CE0AC8AEAD90E34134BB63139494FB50505F1AE5');
INSERT INTO "audit" VALUES('agreed',1,'{"at":1794809795.029,"run":"agreed","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'F9F1E0CD22A5B6A4E4434164B732A2F74EC63F0CF44E6FDDB9A3D8E21B7A32C1');
INSERT INTO "audit" VALUES('agreed',2,'{"at":1794809795.041,"run":"agreed","verb":"pause","by":"ana","from":"desk:11122","reason":"","seq":8}',X'5C52219895A87650AD563A78F436FDF7D0D1AF34A5A9A39A0CE03F79957A3D6D');
INSERT INTO "audit" VALUES('agreed',3,'{"at":1794809795.045,"run":"agreed","verb":"answer","by":"bo","from":"desk:11122","interrupt":"1.1?0","verdict":"approve","note":"","digest":"c81dc11dba27cd3e879f9e58f2f69b01950cd623a95effe315a640af01d9f0b8","seq":9}',X'FAAA37F3D0706EEA9C58449163BF9929106A85C02099663AB3F34DD1B0298E89');
INSERT INTO "audit" VALUES('copy',1,'{"at":1794809795.069,"run":"copy","verb":"fork","by":"ana","from":"desk:11122","seq":1,"of":"done@1"}',X'F47ACCFCC50C84037B5C1845866B0CF5FEE6B82E464B9B9CFA746BD2D1FF4D7C');
INSERT INTO "audit" VALUES('denied',1,'{"at":1794809794.913,"run":"denied","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'05A11F9A5B6C816E4239266474E6ADFC9140A0BBC1C3B7CB497D0549CA520464');
INSERT INTO "audit" VALUES('denied',2,'{"at":1794809794.952,"run":"denied","verb":"answer","by":"ana","from":"desk:11122","interrupt":"1.1?0","verdict":"deny","note":"no","digest":"1f8118873a26b8fc878f3f49810a272e1bdf13d07f99817f699e8cd0dbf3fb12","seq":8}',X'1C0EE5E539B8D952E61A05D5610398F81530FAB712AC5FD764DA0D81B6BBF608');
INSERT INTO "audit" VALUES('done',1,'{"at":1794809794.758,"run":"done","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'605C93AC48097AF23A7EEBA739099B811E819D6D5BE1861D5E616297E8A9E890');
INSERT INTO "audit" VALUES('done',2,'{"at":1794809794.869,"run":"done","verb":"answer","by":"ana","from":"desk:11122","interrupt":"1.1?0","verdict":"approve","note":"","digest":"de6fc67e2301e8dab29ef069ee8862a68805ee708b5315cae7583f9c007c20ec","seq":8}',X'B6592B486BE6FE55C3363D5AC396E157B25039042427633E25E990EACCB9D2E4');
INSERT INTO "audit" VALUES('gone',1,'{"at":1794809795.048,"run":"gone","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'1B91060D582A61D0725FE83F043316700F26E6AE8D282E7BCA898446B23A1FC6');
INSERT INTO "audit" VALUES('gone',2,'{"at":1794809795.061,"run":"gone","verb":"cancel","by":"ana","from":"desk:11122","reason":"x","seq":8}',X'F0ECA7DC0D5596164E2F3E2DBCF457732EAFDA0E1D633FC601B59A965018C335');
INSERT INTO "audit" VALUES('half',1,'{"at":1794809795.001,"run":"half","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'5F6972860CA93B7D155F9274F964DDFE1CCDC3A6051A0A53A53DDBD07AC3F796');
INSERT INTO "audit" VALUES('half',2,'{"at":1794809795.009,"run":"half","verb":"answer","by":"ana","from":"desk:11122","interrupt":"1.0?0","verdict":"approve","note":"","digest":"f382fb72b5014a3dbba2a07c813eeabb58cd0dd68d100cbbed0de6a882805923","seq":7}',X'F193FCAAE5FE96FF0B2A4DD0448D0A892E00B2F7C39852835A66088C63E05C4B');
INSERT INTO "audit" VALUES('half',3,'{"at":1794809795.013,"run":"half","verb":"answer","by":"ana","from":"desk:11122","interrupt":"1.1?0","verdict":"approve","note":"","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","seq":10}',X'6B88030D5A27AC9369681C164983E3A8F66565C2CF25F956F9A559BCC984BBC4');
INSERT INTO "audit" VALUES('half',4,'{"at":1794809795.017,"run":"half","verb":"answer","by":"bo","from":"desk:11122","interrupt":"1.1?0","verdict":"approve","note":"","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","seq":13}',X'FFB9DCB43F0D01D1B5D1D928F3071D668EDBBB9DC3BA56F69BAD0A22A7278AB3');
INSERT INTO "audit" VALUES('open',1,'{"at":1794809794.973,"run":"open","verb":"start","by":"shop","from":"desk:11122","seq":1}',X'D7103662AC817125DF22CB270B27F52F9525B675B6A42AEA8ED20B66D7352A24');
CREATE TABLE audit_head (
    scope text primary key,
    n integer not null,
    head blob not null
) strict, without rowid;
INSERT INTO "audit_head" VALUES('',4,X'9D42283F9956DBAD49545D23CE0AC8AEAD90E34134BB63139494FB50505F1AE5');
INSERT INTO "audit_head" VALUES('agreed',3,X'FAAA37F3D0706EEA9C58449163BF9929106A85C02099663AB3F34DD1B0298E89');
INSERT INTO "audit_head" VALUES('copy',1,X'F47ACCFCC50C84037B5C1845866B0CF5FEE6B82E464B9B9CFA746BD2D1FF4D7C');
INSERT INTO "audit_head" VALUES('denied',2,X'1C0EE5E539B8D952E61A05D5610398F81530FAB712AC5FD764DA0D81B6BBF608');
INSERT INTO "audit_head" VALUES('done',2,X'B6592B486BE6FE55C3363D5AC396E157B25039042427633E25E990EACCB9D2E4');
INSERT INTO "audit_head" VALUES('gone',2,X'F0ECA7DC0D5596164E2F3E2DBCF457732EAFDA0E1D633FC601B59A965018C335');
INSERT INTO "audit_head" VALUES('half',4,X'FFB9DCB43F0D01D1B5D1D928F3071D668EDBBB9DC3BA56F69BAD0A22A7278AB3');
INSERT INTO "audit_head" VALUES('open',1,X'D7103662AC817125DF22CB270B27F52F9525B675B6A42AEA8ED20B66D7352A24');
CREATE TABLE endpoint (
    name text primary key,
    kind text not null,
    url text not null,
    secret text not null,
    topics text not null,
    at real not null
) strict, without rowid;
INSERT INTO "endpoint" VALUES('ops','webhook','https://example.com/hook','whsec_x','',1.79480979434820532795e+09);
CREATE TABLE halt (
    scope text primary key,
    by text not null,
    reason text not null,
    at real not null
) strict, without rowid;
INSERT INTO "halt" VALUES('tool:look','ana','incident',1.79480979508511877054e+09);
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
    opened_at real not null,
    primary key (run, i)
) strict, without rowid;
INSERT INTO "interrupt" VALUES(1,'1.1?0',5,'approval','decided','de6fc67e2301e8dab29ef069ee8862a68805ee708b5315cae7583f9c007c20ec','',0.0,0,1,'ana','["ana"]',1794809794.782);
INSERT INTO "interrupt" VALUES(2,'1.1?0',5,'approval','decided','1f8118873a26b8fc878f3f49810a272e1bdf13d07f99817f699e8cd0dbf3fb12','',0.0,0,1,'ana','[]',1794809794.925);
INSERT INTO "interrupt" VALUES(3,'1.1?0',5,'approval','open','e59525322dae609d376b894f8b8ca3cc6a7e62b77d0fc78b5a497d1a771c4b9e','',0.0,0,1,'','[]',1794809794.982);
INSERT INTO "interrupt" VALUES(4,'1.0?0',4,'approval','open','f382fb72b5014a3dbba2a07c813eeabb58cd0dd68d100cbbed0de6a882805923','',0.0,0,2,'','["ana"]',1794809795.006);
INSERT INTO "interrupt" VALUES(4,'1.1?0',5,'approval','decided','42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca','',0.0,0,2,'bo','["ana","bo"]',1794809795.006);
INSERT INTO "interrupt" VALUES(5,'1.1?0',5,'approval','decided','c81dc11dba27cd3e879f9e58f2f69b01950cd623a95effe315a640af01d9f0b8','',0.0,0,1,'bo','["bo"]',1794809795.033);
INSERT INTO "interrupt" VALUES(6,'1.1?0',5,'approval','void','8279a7c86e5fb790790ed0c717b0ef41bde3865ee9b80c4c3f9ed13e9042f787','',0.0,0,1,'','[]',1794809795.054);
INSERT INTO "interrupt" VALUES(7,'1.1?0',5,'approval','open','011575049878d15b112c684e098f8951fcf33164e2d22c5859c57fe0c028e447','',0.0,0,1,'','[]',1794809795.074);
CREATE TABLE journal (
    run integer not null,
    seq integer not null,
    epoch integer not null,
    body text not null,
    head blob not null,
    primary key (run, seq)
) strict, without rowid;
INSERT INTO "journal" VALUES(1,1,0,'{"t":"started","run":"done","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"shop","at":1794809794.758}',X'6A91A3815A7DEB77228B9760787A7F88FFF63BC7D911821750F94299B4DC4966');
INSERT INTO "journal" VALUES(1,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809794.777}',X'B55867197543EFF54BCBD4B4446D1AA52242DCF9AC3785DF3F89AD3B3A23030E');
INSERT INTO "journal" VALUES(1,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809794.781}',X'9F94E64C9F5501AC76E6A9B961B33CA98F93EC314C8A59587ED6AD7A44C1892C');
INSERT INTO "journal" VALUES(1,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"6d25dfbeb0719298dbd50e8ee4a74e46678f0e36fbd9ea61d50e208d6fc00ff1","at":1794809794.782}',X'72D78FA4DD74E7D968B6BFE47CD26C27D5E1E3C5F52D4D813404C703D332850B');
INSERT INTO "journal" VALUES(1,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"de6fc67e2301e8dab29ef069ee8862a68805ee708b5315cae7583f9c007c20ec","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809794.782}',X'46FC050FB0404C7FE58237A40BE09A01B138EEF7BDBA49F31F198554EAAC6203');
INSERT INTO "journal" VALUES(1,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809794.793}',X'5613D81354D1B7D8129AF1F7EB510455E709F7F03ABF5C258D1E11BFE966EC54');
INSERT INTO "journal" VALUES(1,7,1,'{"t":"parked","wake_at":0.0,"at":1794809794.793}',X'134002D6669C341B27F7EF00A1F99DAAC7FEBA447F55861869F0496DBE57D9AD');
INSERT INTO "journal" VALUES(1,8,0,'{"t":"decided","i":"1.1?0","verdict":"approve","by":"ana","digest":"de6fc67e2301e8dab29ef069ee8862a68805ee708b5315cae7583f9c007c20ec","at":1794809794.869}',X'E93BE2ADAB7FAD50E724AF1EEFA598D3C9E7E1E7BD556C69674BEC313762834E');
INSERT INTO "journal" VALUES(1,9,2,'{"t":"claimed","epoch":2,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809794.878}',X'5F825A8075427BC611A2D8BA077338492A3B9FDE4F984F692412F3BD4E274DA6');
INSERT INTO "journal" VALUES(1,10,2,'{"t":"intended","call":"1.1","tool":"refund","digest":"de6fc67e2301e8dab29ef069ee8862a68805ee708b5315cae7583f9c007c20ec","at":1794809794.879}',X'8B444B74F299B616F1DF0A2E73123C363818BE9496BDDBA30EED9558098321B6');
INSERT INTO "journal" VALUES(1,11,2,'{"t":"returned","call":"1.1","value":"paid 5","took":0.0001,"at":1794809794.897}',X'72B59E12BD173AEF052C93284E3230A16028035E4BAE143D5050346DB83A746A');
INSERT INTO "journal" VALUES(1,12,2,'{"t":"replied","upto":11,"parts":[{"type":"text","text":"done"}],"usage":{"requests":1,"input_tokens":96,"output_tokens":1},"model":"scripted","output":"done","final":true,"took":0.0001,"at":1794809794.905}',X'5ACFA95EA8D9960187F56E802AED19472164C69A570D288D6888AD28D70E84AB');
INSERT INTO "journal" VALUES(1,13,2,'{"t":"completed","output":"done","at":1794809794.905}',X'687DA5CB082121D879F4D551077F92E549D5C2EDACB2979B1EC615076E367468');
INSERT INTO "journal" VALUES(2,1,0,'{"t":"started","run":"denied","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"shop","at":1794809794.913}',X'F48587A1C113F7121E5CD96C68C152576CDB213E364A810B74A0D237F84470C6');
INSERT INTO "journal" VALUES(2,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809794.919}',X'1B5C8CFDADB0FA03294AF200AFB2F8335E2A42F95C32312C103B9645016EE58B');
INSERT INTO "journal" VALUES(2,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809794.925}',X'69A4C5389C64B25BF2F8B81912027CA49833714F7C94B35F332BA6F40A14FF24');
INSERT INTO "journal" VALUES(2,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"449811ab74b75a927b1f54c6f1d6437838c75b14067589395c792506bba770ed","at":1794809794.925}',X'286F0D39FC1ADE011E0FA5089D32F0C313BA73130C562B592FA813388D48D46F');
INSERT INTO "journal" VALUES(2,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"1f8118873a26b8fc878f3f49810a272e1bdf13d07f99817f699e8cd0dbf3fb12","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809794.925}',X'C24CAF7DE52F11E81928B3D8EE318BA7E2424D32CC1CF902974558A8F5DC093E');
INSERT INTO "journal" VALUES(2,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809794.937}',X'41EC29D395FD533B636CCF4FB2961C27DEF4307D18EC7ACBEC45DA03E7563853');
INSERT INTO "journal" VALUES(2,7,1,'{"t":"parked","wake_at":0.0,"at":1794809794.937}',X'3BE2A18A1A77B82DF4854D06DCAFF915170F6AA09DF42279E53EB7114B8DEAF3');
INSERT INTO "journal" VALUES(2,8,0,'{"t":"decided","i":"1.1?0","verdict":"deny","by":"ana","note":"no","digest":"1f8118873a26b8fc878f3f49810a272e1bdf13d07f99817f699e8cd0dbf3fb12","at":1794809794.952}',X'4C907A00318418D03692A73F75E8AFD94A62293AB7D6F7ACA2F64D6530F7E7F4');
INSERT INTO "journal" VALUES(2,9,2,'{"t":"claimed","epoch":2,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809794.961}',X'F5491643CEB20D02EFE748713D1DDECDDBDC324BD030B81E023EACD00C33FC44');
INSERT INTO "journal" VALUES(2,10,2,'{"t":"replied","upto":9,"parts":[{"type":"text","text":"done"}],"usage":{"requests":1,"input_tokens":103,"output_tokens":1},"model":"scripted","output":"done","final":true,"took":0.0001,"at":1794809794.964}',X'D6000E55AADD7CBB14794A3D9F48FC0B7663DCB4F16E3C9C1CD2681C6DDF02DE');
INSERT INTO "journal" VALUES(2,11,2,'{"t":"completed","output":"done","at":1794809794.965}',X'2C1B865024D8424545C9FC11700605391914B2D48E2070C9EB831F978ED59CFA');
INSERT INTO "journal" VALUES(3,1,0,'{"t":"started","run":"open","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"shop","at":1794809794.973}',X'634AE1238B9243B6B96811527EF1962AD73179244C6B127781B4F4FC857D4414');
INSERT INTO "journal" VALUES(3,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809794.981}',X'9233A9DE9FE8624A4FF24DC742452D795D4C552244D89CD1789106FF6AB06370');
INSERT INTO "journal" VALUES(3,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809794.982}',X'53AF903359556327DF248DB58965B8B40ABE608BDDDF2CD770C4FCB7C8B3409E');
INSERT INTO "journal" VALUES(3,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"484f0a89079826e0051f1332ad27e62887d791f0ea926266ccdf10e98572b415","at":1794809794.982}',X'0D31EC773C31DA6A123F5E47D81935FBA8A7DFC6674A19D9FE1879F3B7FAEBF7');
INSERT INTO "journal" VALUES(3,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"e59525322dae609d376b894f8b8ca3cc6a7e62b77d0fc78b5a497d1a771c4b9e","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809794.982}',X'9B76473AC4F6F02BEEF95B85A5CA253FCCBAC19119DD38C9E691E66A335FA924');
INSERT INTO "journal" VALUES(3,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809794.993}',X'7DFAAD7FA035015636605759B024EF974C9432E26EDEE6DDD7A2034DC5FBE798');
INSERT INTO "journal" VALUES(3,7,1,'{"t":"parked","wake_at":0.0,"at":1794809794.993}',X'6D1ACBEDE08301A25A6F0535C565B06EF3FF8C716B1D0D9DC1FFE34FC9C079EF');
INSERT INTO "journal" VALUES(4,1,0,'{"t":"started","run":"half","kind":"agent","program":"two","fingerprint":{"name":"two","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund both","by":"shop","at":1794809795.001}',X'4219A64122D4627C7C106A62E9C827EF18D55C37D8686A1E8F54187B6E17D2B6');
INSERT INTO "journal" VALUES(4,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.005}',X'F2A596C2470586194CE3FB34BBEB4CBA7ED68D6F54E78D0A22D2358A55B00C07');
INSERT INTO "journal" VALUES(4,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"refund","args":{"order":"A","cents":5}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"B","cents":6}}],"usage":{"requests":1,"input_tokens":6,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809795.005}',X'81000D7D9759059DD56C1ACCDC1893E9C5E23E066AB8EF511C007B19E48E5650');
INSERT INTO "journal" VALUES(4,4,1,'{"t":"asked","i":"1.0?0","kind":"approval","call":"1.0","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"f382fb72b5014a3dbba2a07c813eeabb58cd0dd68d100cbbed0de6a882805923","rules":["ask refund"],"approvers":2,"groups":["leads"],"not_requester":true,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809795.006}',X'0F5FDB00C71D04D558FC61025432EEDB63947CE873664781BD2D6C47D78D51F1');
INSERT INTO "journal" VALUES(4,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"B","cents":6},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","rules":["ask refund"],"approvers":2,"groups":["leads"],"not_requester":true,"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809795.006}',X'C6B1775275D830CE08C45A0E79C1E7775BA9746AFD2E0DCC326F3AFE47E09EB1');
INSERT INTO "journal" VALUES(4,6,1,'{"t":"parked","wake_at":0.0,"at":1794809795.006}',X'94CE6CF9E682643E00FBE3CA9D0DDDBB6C8E962EFD380ED04EB7A643E455987F');
INSERT INTO "journal" VALUES(4,7,0,'{"t":"decided","i":"1.0?0","verdict":"approve","by":"ana","digest":"f382fb72b5014a3dbba2a07c813eeabb58cd0dd68d100cbbed0de6a882805923","groups":["leads"],"at":1794809795.009}',X'DFD27C2A10581E11045E77BBF232D7815E3E650331DEB35749D1787AD46E4B7C');
INSERT INTO "journal" VALUES(4,8,2,'{"t":"claimed","epoch":2,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.012}',X'90C42BCC192A3D1CC2A4FC92A6C42F5AAE02F92DA470034DD9955D5D3ADF47D6');
INSERT INTO "journal" VALUES(4,9,2,'{"t":"parked","wake_at":0.0,"at":1794809795.013}',X'0687C99F3ABF25B64C677152A246F9E74325728CE8999D5FBFCCC51C4BA9EF65');
INSERT INTO "journal" VALUES(4,10,0,'{"t":"decided","i":"1.1?0","verdict":"approve","by":"ana","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","groups":["leads"],"at":1794809795.013}',X'1BB22D083EA92B66BAD29FA31A1F78B7DB64A7932A17BFAFF3313B978B50BC82');
INSERT INTO "journal" VALUES(4,11,3,'{"t":"claimed","epoch":3,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.016}',X'88522C85D779D879C46DF1C319A2C9A9795173B11105FC52E8B0E0F61964B042');
INSERT INTO "journal" VALUES(4,12,3,'{"t":"parked","wake_at":0.0,"at":1794809795.017}',X'1544E42CEAF8A551E07CA68D80F577AC8EFA7D810F9BC42D68E52B7787288DB4');
INSERT INTO "journal" VALUES(4,13,0,'{"t":"decided","i":"1.1?0","verdict":"approve","by":"bo","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","groups":["leads"],"at":1794809795.017}',X'2759959DDB411D13B7A1906B3550C58C1C6FE0584364DAF3FE41CC9287D7FDDC');
INSERT INTO "journal" VALUES(4,14,4,'{"t":"claimed","epoch":4,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.019}',X'835EC34EFC3473B87D381992EDB117EE1A492AD4F47668C191C1A110274E2F47');
INSERT INTO "journal" VALUES(4,15,4,'{"t":"intended","call":"1.1","tool":"refund","digest":"42ddf995dcb27ed51ea31d87298f0f36121f4567a49cca5f6e45ae52bb5b61ca","at":1794809795.02}',X'DAC5CC3E43525512607BBA5D130408745987431C93926C178018FCC17A273324');
INSERT INTO "journal" VALUES(4,16,4,'{"t":"returned","call":"1.1","value":"paid 6","took":0.0001,"at":1794809795.024}',X'EFB3FC341BE813780E8F061210D380DA4F0AD414A086DA3DCCB7A4554E6253F2');
INSERT INTO "journal" VALUES(4,17,4,'{"t":"parked","wake_at":0.0,"at":1794809795.024}',X'342EC33AD1AAFB73248A952FC7DD32BC99B7ECA888F36E6749986AB9EFB62AE0');
INSERT INTO "journal" VALUES(5,1,0,'{"t":"started","run":"agreed","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"shop","at":1794809795.029}',X'B754F40D2A98C2F20C58E63DC9C456047FDA51A01E2177EEA7C12AAB72776B8D');
INSERT INTO "journal" VALUES(5,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.032}',X'189AF0CFFEE81305B7374456F1BEABD4266EC20AA4FFBBBEDF6C2BF4A9B3F19E');
INSERT INTO "journal" VALUES(5,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809795.033}',X'CF53A37442CF2B1A7A162E297061D119C0492ECC645DF0B66671890639F8BB06');
INSERT INTO "journal" VALUES(5,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"64a9e38cf0a111a4f5423ca0f6aa53d1c8ca7f8abc37cfe44d3767aa1f15a68f","at":1794809795.033}',X'A7B3B14A2C81056701ED815483A3B21FF3883D02766E1AB54B469BC371C9E562');
INSERT INTO "journal" VALUES(5,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"c81dc11dba27cd3e879f9e58f2f69b01950cd623a95effe315a640af01d9f0b8","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809795.033}',X'BE9BADDD3083477D9267A8F602FF12705C11E17E1057C7406A7D0BD97D04AF10');
INSERT INTO "journal" VALUES(5,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809795.036}',X'BB4B87B5995E1155702661565706CC345311B306F3E9DADD35BAE7343FC86597');
INSERT INTO "journal" VALUES(5,7,1,'{"t":"parked","wake_at":0.0,"at":1794809795.036}',X'E819CC3D520BB90F98CBD1FEE1E287AE62FBFE84ABDDD00894B126D4C193EBB3');
INSERT INTO "journal" VALUES(5,8,0,'{"t":"pause_asked","by":"ana","at":1794809795.041}',X'AE7CDC0BD15682B98B8AAFD888118B1D492DA2BFC151D97DE576787B275E79DE');
INSERT INTO "journal" VALUES(5,9,0,'{"t":"decided","i":"1.1?0","verdict":"approve","by":"bo","digest":"c81dc11dba27cd3e879f9e58f2f69b01950cd623a95effe315a640af01d9f0b8","at":1794809795.045}',X'ADCCB6455E055F65D1881C36CACB22E8D3D3EADAF7C13C381AF3162F787367B3');
INSERT INTO "journal" VALUES(6,1,0,'{"t":"started","run":"gone","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"shop","at":1794809795.048}',X'52DB55E5DC37037F6457474DCA0C6ED1E520ED4C4261E7DBF8243244A69E3AE9');
INSERT INTO "journal" VALUES(6,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.053}',X'F839846E70637D2297B7D143715225CD1809A9BA0874D2D909E703E792CD25CA');
INSERT INTO "journal" VALUES(6,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809795.053}',X'EEDA734C15D2A254D1E96AB9CAC73D442F40F16DDC1C628174ED05265F6D4AD2');
INSERT INTO "journal" VALUES(6,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"7f6abaacf7d816466ee67d679e320af30abb069e24242fefc629b6f6fa669d11","at":1794809795.054}',X'5FABE5ABB4DB66E5F37643BAB92A9C8212178D42681E4BCFE286AA0238D678D9');
INSERT INTO "journal" VALUES(6,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"8279a7c86e5fb790790ed0c717b0ef41bde3865ee9b80c4c3f9ed13e9042f787","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809795.054}',X'FEFC6C96B0D90E4550288C3DAC4FE743368BC9694A5FEF80DDE73CEC8C585E38');
INSERT INTO "journal" VALUES(6,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809795.055}',X'963B07B7787CE9DC2060CFDC0D9D09F11CAC6F0AB67D1DEEB66377CF32E3A075');
INSERT INTO "journal" VALUES(6,7,1,'{"t":"parked","wake_at":0.0,"at":1794809795.055}',X'BB876CD7390B520CBB4EEE9549E04E11E4670360D66B7174F28CB2A7AEECDBF5');
INSERT INTO "journal" VALUES(6,8,0,'{"t":"cancel_asked","by":"ana","reason":"x","at":1794809795.061}',X'6B4C2AD547495A8A846F6EDD22147B2C78EA8CA23A21604BD9230EDF2B17431A');
INSERT INTO "journal" VALUES(6,9,2,'{"t":"claimed","epoch":2,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.065}',X'516C39CEC3B74AC0DED3C6AFC8654025B02B1CDB5A44ADD6E0A809BE9A27893D');
INSERT INTO "journal" VALUES(6,10,2,'{"t":"cancelled","residue":[{"call":"1.0","tool":"look","arguments":{"n":"1"},"why":"it has no undo"}],"at":1794809795.065}',X'F9470BDFDD075F73808A5D7A5EFEB092C5EFF8CF5B392BDEEF8CFD7F3852CBDF');
INSERT INTO "journal" VALUES(7,1,0,'{"t":"started","run":"copy","kind":"agent","program":"one","fingerprint":{"name":"one","tools":{"refund":"00f305629a366e0b","look":"2174759ab4bbabd8"},"policy":["ask refund","default allow"],"output":""},"input":"refund A","by":"ana","forked_from":"done@1","at":1794809794.758}',X'43A5FBE64FB17FC9115A934C512F62332DF53FCBE6F750E160A14E662CDEE674');
INSERT INTO "journal" VALUES(7,2,1,'{"t":"claimed","epoch":1,"worker":"desk/42f609d1/4026531836|11122|239632|496c1f2c","at":1794809795.073}',X'FA907960610FECB405FE36AB47EA21A1C2EA31241A6BC843BAAC76049DB0A76A');
INSERT INTO "journal" VALUES(7,3,1,'{"t":"replied","upto":2,"parts":[{"type":"call","id":"call_0_0","tool":"look","args":{"n":"1"}},{"type":"call","id":"call_0_1","tool":"refund","args":{"order":"A","cents":5}}],"usage":{"requests":1,"input_tokens":5,"output_tokens":10},"model":"scripted","took":0.0001,"at":1794809795.074}',X'80A054744EBB748860E0A9BD8CC2FDC04385500111E8B3FC387870CBA4FDF11A');
INSERT INTO "journal" VALUES(7,4,1,'{"t":"intended","call":"1.0","tool":"look","digest":"f096fae155f65e6f3fe68474d17e92dbf011d2a3ec57eff8c84c2c30fcc1dfec","at":1794809795.074}',X'743BD0D25AB0413C00D8E1ABAAE1D9EAA7F6DEAB8E5F0AA1B49E3F91B0FB5A36');
INSERT INTO "journal" VALUES(7,5,1,'{"t":"asked","i":"1.1?0","kind":"approval","call":"1.1","tool":"refund","args":{"order":"A","cents":5},"definition":"00f305629a366e0bcc628a2a0e4616ae9a9b643d2d295be2540ebd507ef8f287","describes":"Pay money back.","effect":"unsafe","digest":"011575049878d15b112c684e098f8951fcf33164e2d22c5859c57fe0c028e447","rules":["ask refund"],"valid_for":0.0,"remind_every":0.0,"schema":{"additionalProperties":false,"properties":{"order":{"type":"string"},"cents":{"type":"integer"}},"required":["order","cents"],"type":"object"},"expires":0.0,"at":1794809795.074}',X'D90F2B053CEEEDA9D70AEAAD2C5376785FED71DE7C7EA87FF9F7043F85DB1309');
INSERT INTO "journal" VALUES(7,6,1,'{"t":"returned","call":"1.0","value":"found","took":0.0001,"at":1794809795.081}',X'D10D270FD7106FB63B05076B312A12C234AC2FB91B71C096DEB357280A30D61D');
INSERT INTO "journal" VALUES(7,7,1,'{"t":"parked","wake_at":0.0,"at":1794809795.081}',X'1D747B2748087287BBC792564945B714DCF81041C8C076E39CB95553E7FFA30B');
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
INSERT INTO "letter" VALUES(1,'msg_5a85ee72b6e4cd69a941f0fc58dfa48e','ops','interrupt.opened','done','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:34.782000Z","data":{"run_id":"done","agent":"one","interrupt_id":"done:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809794.782,'due',0,1794809794.782,'');
INSERT INTO "letter" VALUES(2,'msg_76f1904a5c11755f662a476d909ab701','ops','run.completed','done','{"type":"run.completed","timestamp":"2026-11-16T06:16:34.905000Z","data":{"run_id":"done","agent":"one","status":"completed"}}',1794809794.905,'due',0,1794809794.905,'');
INSERT INTO "letter" VALUES(3,'msg_78cff35590383ac46b193b23a74f1921','ops','interrupt.opened','denied','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:34.925000Z","data":{"run_id":"denied","agent":"one","interrupt_id":"denied:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809794.925,'due',0,1794809794.925,'');
INSERT INTO "letter" VALUES(4,'msg_21d0365472ae6688a58706c3effdeebe','ops','run.completed','denied','{"type":"run.completed","timestamp":"2026-11-16T06:16:34.965000Z","data":{"run_id":"denied","agent":"one","status":"completed"}}',1794809794.965,'due',0,1794809794.965,'');
INSERT INTO "letter" VALUES(5,'msg_5b7b6ba4ef009d5d2e2be226f95a50c8','ops','interrupt.opened','open','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:34.982000Z","data":{"run_id":"open","agent":"one","interrupt_id":"open:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809794.982,'due',0,1794809794.982,'');
INSERT INTO "letter" VALUES(6,'msg_2f302a20911d49579124bf5ec83c4e31','ops','interrupt.opened','half','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:35.006000Z","data":{"run_id":"half","agent":"two","interrupt_id":"half:1.0?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":2,"groups":["leads"]}}',1794809795.006,'due',0,1794809795.006,'');
INSERT INTO "letter" VALUES(7,'msg_e0e47f7e4a00d4011a67bb2fd6ebcef5','ops','interrupt.opened','half','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:35.006000Z","data":{"run_id":"half","agent":"two","interrupt_id":"half:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":2,"groups":["leads"]}}',1794809795.006,'due',0,1794809795.006,'');
INSERT INTO "letter" VALUES(8,'msg_02751fe69f5dab0fa17c1573392d541a','ops','interrupt.opened','agreed','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:35.033000Z","data":{"run_id":"agreed","agent":"one","interrupt_id":"agreed:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809795.033,'due',0,1794809795.033,'');
INSERT INTO "letter" VALUES(9,'msg_90bcdb917955529240ee2a58187da386','ops','interrupt.opened','gone','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:35.054000Z","data":{"run_id":"gone","agent":"one","interrupt_id":"gone:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809795.054,'due',0,1794809795.054,'');
INSERT INTO "letter" VALUES(10,'msg_5817abb43f67068813e99939e97e6131','ops','run.cancelled','gone','{"type":"run.cancelled","timestamp":"2026-11-16T06:16:35.065000Z","data":{"run_id":"gone","agent":"one","status":"cancelled","left_behind":1}}',1794809795.065,'due',0,1794809795.065,'');
INSERT INTO "letter" VALUES(11,'msg_bc9eccf4a5502bb32626d8887cc2f14a','ops','interrupt.opened','copy','{"type":"interrupt.opened","timestamp":"2026-11-16T06:16:35.074000Z","data":{"run_id":"copy","agent":"one","interrupt_id":"copy:1.1?0","kind":"approval","type":"approval","tool":"refund","reason":"","expires_at":null,"approvers":1,"groups":[]}}',1794809795.074,'due',0,1794809795.074,'');
INSERT INTO "letter" VALUES(12,'msg_1b6452568df46a6a15283ef1c7e03c6f','ops','halt.set','','{"type":"halt.set","timestamp":"2026-11-16T06:16:35.085119Z","data":{"scope":"tool:look","by":"ana","reason":"incident"}}',1.79480979508511877054e+09,'due',0,1.79480979508511877054e+09,'');
INSERT INTO "letter" VALUES(13,'msg_53f667637cb27fc395832b57534cab29','ops','halt.set','','{"type":"halt.set","timestamp":"2026-11-16T06:16:35.088285Z","data":{"scope":"tool:x","by":"ana","reason":"incident"}}',1.79480979508828496931e+09,'due',0,1.79480979508828496931e+09,'');
INSERT INTO "letter" VALUES(14,'msg_18030ea69b74f4a5f3756f1d83e50189','ops','halt.lifted','','{"type":"halt.lifted","timestamp":"2026-11-16T06:16:35.092288Z","data":{"scope":"tool:x","by":"ana","reason":""}}',1.79480979509228754046e+09,'due',0,1.79480979509228754046e+09,'');
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
    lease_until real not null,
    wake_at real not null,
    blocked text not null,
    opens integer not null,
    errors integer not null,
    stopped integer not null,
    created_at real not null,
    updated_at real not null
) strict;
INSERT INTO "run" VALUES(1,'done','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',13,X'687DA5CB082121D879F4D551077F92E549D5C2EDACB2979B1EC615076E367468','completed',2,'',0.0,0.0,'',0,0,0,1794809794.758,1794809794.905);
INSERT INTO "run" VALUES(2,'denied','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',11,X'2C1B865024D8424545C9FC11700605391914B2D48E2070C9EB831F978ED59CFA','completed',2,'',0.0,0.0,'',0,0,0,1794809794.913,1794809794.965);
INSERT INTO "run" VALUES(3,'open','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',7,X'6D1ACBEDE08301A25A6F0535C565B06EF3FF8C716B1D0D9DC1FFE34FC9C079EF','waiting',1,'',0.0,0.0,'',1,0,0,1794809794.973,1794809794.993);
INSERT INTO "run" VALUES(4,'half','agent','two','','{}','refund both','5a30210265da6de39948a5202bff161e97f9bd5a57a43e5e111c1f979ddf74be',17,X'342EC33AD1AAFB73248A952FC7DD32BC99B7ECA888F36E6749986AB9EFB62AE0','waiting',4,'',0.0,0.0,'',1,0,0,1794809795.001,1794809795.024);
INSERT INTO "run" VALUES(5,'agreed','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',9,X'ADCCB6455E055F65D1881C36CACB22E8D3D3EADAF7C13C381AF3162F787367B3','paused',1,'',0.0,0.0,'',0,0,0,1794809795.029,1794809795.045);
INSERT INTO "run" VALUES(6,'gone','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',10,X'F9470BDFDD075F73808A5D7A5EFEB092C5EFF8CF5B392BDEEF8CFD7F3852CBDF','cancelled',2,'',0.0,0.0,'',0,0,0,1794809795.048,1794809795.065);
INSERT INTO "run" VALUES(7,'copy','agent','one','','{}','refund A','d344e6316bc83af2d90d5aa426231352a38d5244daee5e5a45d932dbbabda634',7,X'1D747B2748087287BBC792564945B714DCF81041C8C076E39CB95553E7FFA30B','waiting',1,'',0.0,0.0,'',1,0,0,1794809794.758,1794809795.081);
CREATE INDEX run_due on run (program) where status in ('ready', 'pausing', 'cancelling');
CREATE INDEX run_wake on run (wake_at) where wake_at > 0;
CREATE INDEX run_blocked on run (program) where blocked <> '';
CREATE INDEX run_status on run (status, n);
CREATE INDEX run_program on run (program, n);
CREATE INDEX run_session on run (session, n) where session <> '';
CREATE INDEX interrupt_open on interrupt (opened_at, run, seq) where state = 'open';
CREATE INDEX interrupt_id on interrupt (i);
CREATE INDEX letter_due on letter (endpoint, run, n) where state = 'due';
CREATE INDEX letter_time on letter (due_at) where state = 'due';
CREATE INDEX letter_dead on letter (n) where state = 'dead';
CREATE INDEX audit_time on audit (json_extract(body, '$.at'), scope, n);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('letter',14);
pragma user_version = 4;
