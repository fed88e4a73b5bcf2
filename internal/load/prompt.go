package load

import "strings"

// words are short and common, so that most tokenizers have a token for each with the
// space before it.
var words = strings.Fields(`
able about above acid across act add after again age ago air all also always among and
animal answer apple area arm army art ask away baby back bad bag ball band bank bar base
bath beach bear beat bed bell best better big bird bit black block blood blue board boat
body bone book born both bottom box boy branch bread break bridge bright bring brother
brown build burn bus busy buy cake call calm camp can cap car card care carry case cat
catch cause cell center chair chance change chart check child choose circle city class
clean clear climb clock close cloth cloud coast coat cold color come cook cool copy corn
corner cost cotton count country course cover cow create crop cross crowd cry cup cut
dance dark day dead deal dear death decide deep desert desk die differ dinner direct dog
door double down draw dream dress drink drive drop dry duck during dust each ear early
earth ease east eat edge egg eight else empty end engine enough enter even evening ever
every exact eye face fact fair fall family famous far farm fast fat father fear feed feel
few field fight figure fill film final find fine finger finish fire first fish fit five
flat floor flow flower fly food foot force forest form forward four free fresh friend
from front fruit full game garden gas gate general get gift girl give glad glass gold
good govern grand grass gray great green ground group grow guess guide gun hair half hall
hand happy hard hat have head hear heart heat heavy help here high hill history hit hold
hole home horse hot hour house how human hundred hunt hurry ice idea inch iron island job
join jump just keep key kill kind king knee know lady lake land language large last late
laugh law lay lead leaf learn least leave left leg length less letter level lie life
light like line lion lip list listen little live local long look lost lot loud love low
machine main make man many map mark market mass match matter may meal mean meat meet
metal method middle might mile milk mind mine minute miss modern money month moon more
morning mother motion mountain mouth move much music must name nation nature near neck
need never new next night nine noise noon north nose note noun now number ocean off offer
office often oil old once one only open order other our out over own page pain paint pair
paper parent part party pass past path pay people perhaps person phone piece place plain
plan plane plant play please point poor port pose position power press pretty print
problem product proper protect prove pull push put queen question quick quiet quite race
radio rail rain raise range rather reach read ready real reason record red region rest
rich ride right ring rise river road rock roll roof room root rope round row rule run
safe sail salt same sand save say school science sea season seat second see seed seem
self sell send sense serve set seven shape share sharp ship shoe shop short should shout
show side sight sign silver simple sing sister sit six size skill skin sky sleep slow
small smell smile snow soft soil solution some son song soon sound south space speak
speed spell spend spot spread spring square stand star start state station stay steam
steel step stick still stone stop store story strange stream street string strong student
study such sugar suit summer sun supply sure surface swim table tail take talk tall teach
team tell ten term test thank thick thin thing think third thought three throw time tiny
together tone tool top total touch town track trade train travel tree triangle trip
trouble truck true try tube turn twenty two type uncle under unit until use usual valley
value vary view village visit voice wait walk wall want war warm wash watch water wave way
wear weather week weight west wheel white whole wide wife wild will win wind window wing
winter wish woman wonder wood word work world write yard year yellow yes young zero`)

// Draw is a source of chance that is the same for the same seed: SplitMix64 (Steele, Lea
// and Flood, Fast splittable pseudorandom number generators, 2014).
type Draw struct{ state uint64 }

// NewDraw makes one for a prompt of a seed: every number has its own.
func NewDraw(seed, number uint64) *Draw {
	d := &Draw{seed}
	return &Draw{d.next() + number*0x9e3779b97f4a7c15 ^ d.next()}
}

func (d *Draw) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// task is what the words are for: a model that may stop should have no reason to.
const task = "\n\nGo on with this list: one word after the other, for as long as you can."

// Prompt is a prompt of n words that are drawn anew for each number, the first too: no
// two have a beginning in common that a prefix cache could know.
func Prompt(seed, number uint64, n int) string {
	d := NewDraw(seed, number)
	var b strings.Builder
	b.Grow(n*6 + len(task))
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[d.next()%uint64(len(words))])
	}
	b.WriteString(task)
	return b.String()
}

// Words is how many words give so many tokens, from two prompts that a server counted:
// a template is around them, and some words are two tokens.
func Words(want, words1, tokens1, words2, tokens2 int) int {
	if words2 <= words1 || tokens2 <= tokens1 {
		return max(want, 1)
	}
	each := float64(tokens2-tokens1) / float64(words2-words1)
	if each < 0.2 || each > 8 { // no tokenizer of text does that
		return max(want, 1)
	}
	around := float64(tokens1) - each*float64(words1)
	return max(1, int((float64(want)-around)/each+0.5))
}
