// Gloo's header of this name, of which c10d's declarations need nothing.
#pragma once
