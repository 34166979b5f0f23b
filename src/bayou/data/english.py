"""English stop words: function words, and a longer list."""

_ENGLISH = """
a about above after again against all also although always am among an and another any are aren as
at be because been before being below between both but by can cannot could couldn did didn do does
doesn doing don down during each either else even ever every few for from further had hadn has hasn
have haven having he her here hers herself him himself his how if in into is isn it its itself just
less ll many may me might mine more most much must my myself never no none nor not nothing now of
off on once one only onto or other others our ours ourselves out over own per re same shall she
should shouldn since so some still such than that the their theirs them themselves then there
therefore these they this those though through thus to too under until up upon us ve very was wasn
we were weren what when where whether which while who whom whose why will with within without won
would wouldn yet you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())

# Words that carry no subject by themselves, in five groups. The test for a word: would its presence in a
# topic's first words help a person to name the topic? Words with a second meaning that is a subject (may,
# state, march, second, people, new, world, need, help, use) are left out of the list.
_LONG = """
dr etc ie eg mr mrs ms sir
two three four five six seven eight nine ten
say says said saying tell tells told telling
come comes came coming get gets getting got gotten give gives gave given giving go goes going gone went
keep keeps kept know knows knew known let lets like liked likely look looks looked looking make makes made
making put puts see sees saw seen seem seems seemed take takes took taken taking think thinks want wants
wanted
according across actually ago almost alone along already anybody anyone anything apart around aside away
become becomes became becoming behind beside besides beyond certainly clearly despite elsewhere enough
especially everybody everyone everything except hence however indeed instead including later lot lots
maybe meanwhile merely moreover mostly namely nearly neither nevertheless nobody nowhere often otherwise
particularly perhaps probably quite rather really several shan simply somebody somehow someone something
sometimes somewhat somewhere soon thereby therein thing things throughout together toward towards truly
unless unlike usually various via well whatever whenever wherever whereas whichever whoever
"""
ENGLISH_LONG_STOP_WORDS = ENGLISH_STOP_WORDS | frozenset(_LONG.split())
ENGLISH_LISTS = {
    "english": ENGLISH_STOP_WORDS,
    "en": ENGLISH_STOP_WORDS,
    "english-long": ENGLISH_LONG_STOP_WORDS,
}
